package telemetry

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// Decisions on a work, as the label "decision" shows them.
const (
	DecisionGranted    = "granted"
	DecisionDeferred   = "deferred"
	DecisionWouldDefer = "would_defer"
	DecisionOverridden = "overridden"
	DecisionExempt     = "exempt"
)

// Results of starting a workflow, as the label "result" shows them.
const (
	StartStarted = "started"
	StartRunning = "already_started"
	StartFailed  = "failed"
)

// Kinds of what a pass recovers, as the label "kind" shows them.
const (
	RecoveredWoken       = "back_off_over"
	RecoveredExpiredSlot = "slot_expired"
	RecoveredLostAttempt = "attempt_lost"
	RecoveredRestart     = "workflow_restarted"
)

// Metrics counts what this process decides and does. It implements the meters
// that the lanes and the accounting declare. No method blocks; all are safe for
// concurrent use.
type Metrics struct {
	flows flowLabels

	deferred      *prometheus.CounterVec
	decisions     *prometheus.CounterVec
	emissions     *prometheus.CounterVec
	wouldDefer    *prometheus.CounterVec
	overrides     *prometheus.CounterVec
	late          *prometheus.CounterVec
	arbiterErrors prometheus.Counter
	reservation   prometheus.Histogram
	lost          *prometheus.CounterVec
	unrecorded    *prometheus.CounterVec
	starts        *prometheus.CounterVec
	recovered     *prometheus.CounterVec
	holdErrors    prometheus.Counter
	cadenceErrors prometheus.Counter
}

// NewMetrics registers the metrics on registerer with every label value at
// zero, so that a rate exists before the first event. flows are those the
// operator named; all others share [UnknownFlow].
func NewMetrics(registerer prometheus.Registerer, flows []string) (*Metrics, error) {
	metrics := &Metrics{
		flows: newFlowLabels(flows),
		deferred: counters("emission_deferred_total",
			"Deferrals: the works wait as before.", "flow", "reason"),
		decisions: counters("adjourn_decisions_total",
			"Decisions on works, by flow.", "flow", "decision"),
		emissions: counters("adjourn_emissions_total",
			"Attempts to emit, by how they ended.", "flow", "lane", "outcome"),
		wouldDefer: counters("adjourn_would_defer_total",
			"Observed works emitted beyond the ceiling: enforcing would have deferred them.", "flow"),
		overrides: counters("adjourn_overrides_total",
			"Works emitted outside the quota because their deadline was closing.", "flow"),
		late: counters("adjourn_emissions_late_total",
			"Works emitted after their deadline.", "flow"),
		arbiterErrors: counter("adjourn_arbiter_errors_total",
			"Times the arbiter could not be asked; enforced works are deferred meanwhile."),
		holdErrors: counter("adjourn_hold_errors_total",
			"Times the third party asked to wait and the arbiter could not be told."),
		cadenceErrors: counter("adjourn_cadence_errors_total",
			"Chunks that paced themselves because the cadence could not be asked."),
		reservation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "adjourn_reservation_seconds",
			Help:    "Time one admission took, reservation included.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5},
		}),
		lost: counters("adjourn_accounting_lost_total",
			"Emissions that could not be counted in their window.", "lane"),
		unrecorded: counters("adjourn_endings_unrecorded_total",
			"Attempts whose ending could not be written; their works are emitted again under the same key.", "lane"),
		starts: counters("adjourn_workflow_starts_total",
			"Workflows started by passes.", "lane", "result"),
		recovered: counters("adjourn_recovered_total",
			"What passes put right after processes that died, by kind.", "kind"),
	}
	for _, collector := range metrics.collectors() {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	metrics.createLabels()
	return metrics, nil
}

func (metrics *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		metrics.deferred, metrics.decisions, metrics.emissions, metrics.wouldDefer,
		metrics.overrides, metrics.late, metrics.arbiterErrors, metrics.reservation,
		metrics.lost, metrics.unrecorded, metrics.starts, metrics.recovered,
		metrics.holdErrors, metrics.cadenceErrors,
	}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (metrics *Metrics) createLabels() {
	for _, flow := range metrics.flows.all() {
		for _, reason := range quota.Reasons() {
			metrics.deferred.WithLabelValues(flow, string(reason))
		}
		for _, decision := range []string{
			DecisionGranted, DecisionDeferred, DecisionWouldDefer, DecisionOverridden, DecisionExempt,
		} {
			metrics.decisions.WithLabelValues(flow, decision)
		}
		for _, lane := range work.Lanes() {
			for _, outcome := range work.Outcomes() {
				metrics.emissions.WithLabelValues(flow, string(lane), string(outcome))
			}
		}
		metrics.wouldDefer.WithLabelValues(flow)
		metrics.overrides.WithLabelValues(flow)
		metrics.late.WithLabelValues(flow)
	}
	for _, kind := range []string{
		RecoveredWoken, RecoveredExpiredSlot, RecoveredLostAttempt, RecoveredRestart,
	} {
		metrics.recovered.WithLabelValues(kind)
	}
	for _, lane := range work.Lanes() {
		metrics.lost.WithLabelValues(string(lane))
		metrics.unrecorded.WithLabelValues(string(lane))
		for _, result := range []string{StartStarted, StartRunning, StartFailed} {
			metrics.starts.WithLabelValues(string(lane), result)
		}
	}
}

// EmissionsLost counts emissions that accounting had to give up.
func (metrics *Metrics) EmissionsLost(lane work.Lane, count int) {
	metrics.lost.WithLabelValues(string(lane)).Add(float64(count))
}

// Admission counts what became of one batch of governed works.
func (metrics *Metrics) Admission(batch work.AdmissionBatch) {
	metrics.decide(DecisionGranted, batch.Granted)
	metrics.decide(DecisionWouldDefer, batch.WouldDefer)
	for flow, count := range batch.WouldDefer {
		metrics.wouldDefer.WithLabelValues(metrics.flows.label(flow)).Add(float64(count))
	}
	for reason, tally := range batch.Deferred {
		metrics.decide(DecisionDeferred, tally)
		for flow, count := range tally {
			metrics.deferred.WithLabelValues(metrics.flows.label(flow), reason).Add(float64(count))
		}
	}
}

func (metrics *Metrics) decide(decision string, tally work.Tally) {
	for flow, count := range tally {
		metrics.decisions.WithLabelValues(metrics.flows.label(flow), decision).Add(float64(count))
	}
}

// Attempted counts one call to the third party; late when it was emitted after
// its deadline.
func (metrics *Metrics) Attempted(flow string, lane work.Lane, outcome work.Outcome, late bool) {
	flow = metrics.flows.label(flow)
	metrics.emissions.WithLabelValues(flow, string(lane), string(outcome)).Inc()
	if late {
		metrics.late.WithLabelValues(flow).Inc()
	}
	if lane == work.Override && outcome == work.OutcomeEmitted {
		metrics.overrides.WithLabelValues(flow).Inc()
	}
}

// Unrecorded counts endings that could not be written.
func (metrics *Metrics) Unrecorded(lane work.Lane, endings int) {
	metrics.unrecorded.WithLabelValues(string(lane)).Add(float64(endings))
}

// Deferred counts admitted works that went back to waiting.
func (metrics *Metrics) Deferred(flow, reason string, works int) {
	flow = metrics.flows.label(flow)
	metrics.decisions.WithLabelValues(flow, DecisionDeferred).Add(float64(works))
	metrics.deferred.WithLabelValues(flow, reason).Add(float64(works))
}

// Overridden counts works chosen because their deadline was closing.
func (metrics *Metrics) Overridden(chosen work.Tally) { metrics.decide(DecisionOverridden, chosen) }

// Exempted counts works chosen because their flow is never throttled.
func (metrics *Metrics) Exempted(chosen work.Tally) { metrics.decide(DecisionExempt, chosen) }

// Started counts the workflows of one batch.
func (metrics *Metrics) Started(lane work.Lane, started, running, failed int) {
	for result, count := range map[string]int{
		StartStarted: started, StartRunning: running, StartFailed: failed,
	} {
		metrics.starts.WithLabelValues(string(lane), result).Add(float64(count))
	}
}

// Recovered counts what a pass found left behind.
func (metrics *Metrics) Recovered(recovery work.Recovery) {
	for kind, count := range map[string]int{
		RecoveredWoken: recovery.Woken, RecoveredExpiredSlot: recovery.ExpiredSlots,
		RecoveredLostAttempt: recovery.LostAttempts, RecoveredRestart: len(recovery.Restart),
	} {
		metrics.recovered.WithLabelValues(kind).Add(float64(count))
	}
}

// HoldFailed counts one hold the arbiter could not be told of.
func (metrics *Metrics) HoldFailed() { metrics.holdErrors.Inc() }

// CadenceFailed counts one chunk that paced itself.
func (metrics *Metrics) CadenceFailed() { metrics.cadenceErrors.Inc() }

// Reserved takes note of how long one admission took.
func (metrics *Metrics) Reserved(took time.Duration) {
	metrics.reservation.Observe(took.Seconds())
}

// ArbiterFailed counts one failure to ask the arbiter.
func (metrics *Metrics) ArbiterFailed() { metrics.arbiterErrors.Inc() }
