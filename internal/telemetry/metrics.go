package telemetry

import (
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
}

// NewMetrics registers the metrics on registerer with every label value at
// zero, so that a rate exists before the first event. flows are those the
// operator named; all others share [UnknownFlow].
func NewMetrics(registerer prometheus.Registerer, flows []string) (*Metrics, error) {
	metrics := &Metrics{
		flows: newFlowLabels(flows),
		deferred: counters("emission_deferred_total",
			"Works deferred, once per work and window.", "flow", "reason"),
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
		arbiterErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adjourn_arbiter_errors_total",
			Help: "Times the arbiter could not be asked; enforced works are deferred meanwhile.",
		}),
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
	}
	for _, collector := range []prometheus.Collector{
		metrics.deferred, metrics.decisions, metrics.emissions, metrics.wouldDefer,
		metrics.overrides, metrics.late, metrics.arbiterErrors, metrics.reservation,
		metrics.lost, metrics.unrecorded, metrics.starts,
	} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	metrics.createLabels()
	return metrics, nil
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
	if outcome != work.OutcomeEmitted {
		return
	}
	switch lane {
	case work.Override:
		metrics.overrides.WithLabelValues(flow).Inc()
		metrics.decisions.WithLabelValues(flow, DecisionOverridden).Inc()
	case work.Exempt:
		metrics.decisions.WithLabelValues(flow, DecisionExempt).Inc()
	case work.Governed: // counted when it was admitted
	}
}

// Unrecorded counts endings that could not be written.
func (metrics *Metrics) Unrecorded(lane work.Lane, endings int) {
	metrics.unrecorded.WithLabelValues(string(lane)).Add(float64(endings))
}

// Reserved takes note of how long one admission took.
func (metrics *Metrics) Reserved(took time.Duration) {
	metrics.reservation.Observe(took.Seconds())
}

// ArbiterFailed counts one failure to ask the arbiter.
func (metrics *Metrics) ArbiterFailed() { metrics.arbiterErrors.Inc() }
