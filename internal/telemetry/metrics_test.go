package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/accounting"
	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/work"
)

// What the lanes, the passes and the accounting tell.
var (
	_ accounting.Meter = (*telemetry.Metrics)(nil)
	_ dispatch.Meter   = (*telemetry.Metrics)(nil)
	_ governed.Meter   = (*telemetry.Metrics)(nil)
	_ override.Meter   = (*telemetry.Metrics)(nil)
	_ exempt.Meter     = (*telemetry.Metrics)(nil)
)

func newMetrics(t *testing.T, flows ...string) (*telemetry.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics, err := telemetry.NewMetrics(registry, flows)
	require.NoError(t, err)
	return metrics, registry
}

func requireMetric(t *testing.T, registry *prometheus.Registry, name, want string) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var help string
	for _, family := range families {
		if family.GetName() == name {
			help = "# HELP " + name + " " + family.GetHelp() + "\n# TYPE " + name + " counter\n"
		}
	}
	require.NotEmpty(t, help, "no metric %s", name)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(help+want), name))
}

// A31: the source's own name, one more for each refusal; all label values exist
// from the start, and flows nobody named share one.
func TestMetrics_DeferralsByFlowAndReason(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, "invoice")
	metrics.Admission(work.AdmissionBatch{
		Granted:    work.Tally{"invoice": 3},
		WouldDefer: work.Tally{"invoice": 2},
		Deferred: map[string]work.Tally{
			"quota_full":          {"invoice": 4, "zzz": 1},
			"arbiter_unavailable": {"yyy": 5},
		},
	})
	metrics.Deferred("invoice", "cadence", 6)
	metrics.Overridden(work.Tally{"invoice": 8})
	metrics.Exempted(work.Tally{"ack": 9})
	requireMetric(t, registry, "emission_deferred_total", `
emission_deferred_total{flow="invoice",reason="arbiter_unavailable"} 0
emission_deferred_total{flow="invoice",reason="cadence"} 6
emission_deferred_total{flow="invoice",reason="quota_full"} 4
emission_deferred_total{flow="invoice",reason="slot_expired"} 0
emission_deferred_total{flow="invoice",reason="third_party_limit"} 0
emission_deferred_total{flow="unknown",reason="arbiter_unavailable"} 5
emission_deferred_total{flow="unknown",reason="cadence"} 0
emission_deferred_total{flow="unknown",reason="quota_full"} 1
emission_deferred_total{flow="unknown",reason="slot_expired"} 0
emission_deferred_total{flow="unknown",reason="third_party_limit"} 0
`)
	requireMetric(t, registry, "adjourn_would_defer_total", `
adjourn_would_defer_total{flow="invoice"} 2
adjourn_would_defer_total{flow="unknown"} 0
`)
	requireMetric(t, registry, "adjourn_decisions_total", `
adjourn_decisions_total{decision="deferred",flow="invoice"} 10
adjourn_decisions_total{decision="deferred",flow="unknown"} 6
adjourn_decisions_total{decision="exempt",flow="invoice"} 0
adjourn_decisions_total{decision="exempt",flow="unknown"} 9
adjourn_decisions_total{decision="granted",flow="invoice"} 3
adjourn_decisions_total{decision="granted",flow="unknown"} 0
adjourn_decisions_total{decision="overridden",flow="invoice"} 8
adjourn_decisions_total{decision="overridden",flow="unknown"} 0
adjourn_decisions_total{decision="would_defer",flow="invoice"} 2
adjourn_decisions_total{decision="would_defer",flow="unknown"} 0
`)
}

// A42: an override is counted and flagged; so is what comes late.
func TestMetrics_Attempts(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, "invoice")
	metrics.Attempted("invoice", work.Override, work.OutcomeEmitted, true)
	metrics.Attempted("invoice", work.Override, work.OutcomeSpent, false)
	metrics.Attempted("zzz", work.Exempt, work.OutcomeEmitted, false)
	requireMetric(t, registry, "adjourn_overrides_total", `
adjourn_overrides_total{flow="invoice"} 1
adjourn_overrides_total{flow="unknown"} 0
`)
	requireMetric(t, registry, "adjourn_emissions_late_total", `
adjourn_emissions_late_total{flow="invoice"} 1
adjourn_emissions_late_total{flow="unknown"} 0
`)
	count, err := testutil.GatherAndCount(registry, "adjourn_emissions_total")
	require.NoError(t, err)
	require.Equal(t, 2*3*5, count, "flows × lanes × outcomes, however many flows there are")
}

func TestMetrics_Losses(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	metrics.EmissionsLost(work.Override, 7)
	metrics.Unrecorded(work.Governed, 2)
	metrics.ArbiterFailed()
	metrics.HoldFailed()
	metrics.CadenceFailed()
	metrics.Reserved(time.Millisecond)
	requireMetric(t, registry, "adjourn_accounting_lost_total", `
adjourn_accounting_lost_total{lane="exempt"} 0
adjourn_accounting_lost_total{lane="governed"} 0
adjourn_accounting_lost_total{lane="override"} 7
`)
	requireMetric(t, registry, "adjourn_endings_unrecorded_total", `
adjourn_endings_unrecorded_total{lane="exempt"} 0
adjourn_endings_unrecorded_total{lane="governed"} 2
adjourn_endings_unrecorded_total{lane="override"} 0
`)
	requireMetric(t, registry, "adjourn_arbiter_errors_total", "adjourn_arbiter_errors_total 1\n")
	requireMetric(t, registry, "adjourn_hold_errors_total", "adjourn_hold_errors_total 1\n")
	requireMetric(t, registry, "adjourn_cadence_errors_total", "adjourn_cadence_errors_total 1\n")
}

func TestMetrics_Passes(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	metrics.Started(work.Exempt, 1, 2, 3)
	metrics.Recovered(work.Recovery{Woken: 1, ExpiredSlots: 2, LostAttempts: 3, Restart: make([]work.Carriage, 4)})
	requireMetric(t, registry, "adjourn_workflow_starts_total", `
adjourn_workflow_starts_total{lane="exempt",result="already_started"} 2
adjourn_workflow_starts_total{lane="exempt",result="failed"} 3
adjourn_workflow_starts_total{lane="exempt",result="started"} 1
adjourn_workflow_starts_total{lane="governed",result="already_started"} 0
adjourn_workflow_starts_total{lane="governed",result="failed"} 0
adjourn_workflow_starts_total{lane="governed",result="started"} 0
adjourn_workflow_starts_total{lane="override",result="already_started"} 0
adjourn_workflow_starts_total{lane="override",result="failed"} 0
adjourn_workflow_starts_total{lane="override",result="started"} 0
`)
	requireMetric(t, registry, "adjourn_recovered_total", `
adjourn_recovered_total{kind="attempt_lost"} 3
adjourn_recovered_total{kind="back_off_over"} 1
adjourn_recovered_total{kind="slot_expired"} 2
adjourn_recovered_total{kind="workflow_restarted"} 4
`)
}

// Every name follows Prometheus' conventions.
func TestMetrics_AreWellNamed(t *testing.T) {
	t.Parallel()
	_, registry := newMetrics(t, "invoice")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// The SDK's figures stand on the same page, under their documented names.
func TestNewTemporalMetrics_SharesTheRegistry(t *testing.T) {
	t.Parallel()
	_, registry := newMetrics(t)
	handler, closer := telemetry.NewTemporalMetrics(registry, zap.NewNop())
	tagged := handler.WithTags(map[string]string{"namespace": "default", "operation": "PollWorkflowTaskQueue"})
	tagged.Counter("temporal_request").Inc(3)
	tagged.Timer("temporal_request_latency").Record(20 * time.Millisecond)
	require.NoError(t, closer.Close())
	requireMetric(t, registry, "temporal_request_total", `
temporal_request_total{namespace="default",operation="PollWorkflowTaskQueue"} 3
`)
	count, err := testutil.GatherAndCount(registry, "temporal_request_latency_seconds")
	require.NoError(t, err)
	require.Equal(t, 1, count)
	var _ client.MetricsHandler = handler
}
