package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/work"
)

var verdicts = []struct {
	outcome  emitter.Outcome
	governed lanetest.Row
	urgent   lanetest.Row
}{
	{
		emitter.Outcome{Verdict: emitter.Emitted, Status: 201, Reference: "r-1"},
		lanetest.Row{State: work.Emitted, Outcome: "emitted"},
		lanetest.Row{State: work.Emitted, Outcome: "emitted"},
	},
	{
		emitter.Outcome{Verdict: emitter.Limited, Status: 429, RetryAfter: 7 * time.Second},
		lanetest.Row{State: work.Pending, Outcome: "deferred", Reason: "third_party_limit"},
		lanetest.Row{State: work.Admitted, Outcome: "deferred", Reason: "third_party_limit"},
	},
	{
		emitter.Outcome{Verdict: emitter.Unsent, Detail: "connection refused"},
		lanetest.Row{State: work.Admitted, Outcome: "unsent", Reason: "not_sent"},
		lanetest.Row{State: work.Admitted, Outcome: "unsent", Reason: "not_sent"},
	},
	{
		emitter.Outcome{Verdict: emitter.Uncertain, Status: 500},
		lanetest.Row{State: work.Pending, Outcome: "spent", Reason: "uncertain"},
		lanetest.Row{State: work.Admitted, Outcome: "spent", Reason: "uncertain"},
	},
	{
		emitter.Outcome{Verdict: emitter.Rejected, Status: 422},
		lanetest.Row{State: work.Failed, Outcome: "failed", Reason: "rejected"},
		lanetest.Row{State: work.Failed, Outcome: "failed", Reason: "rejected"},
	},
	{
		emitter.Outcome{Verdict: "something new"},
		lanetest.Row{State: work.Pending, Outcome: "spent", Reason: "uncertain"},
		lanetest.Row{State: work.Admitted, Outcome: "spent", Reason: "uncertain"},
	},
}

// TestVerdictsInTheGovernedLane: each verdict is recorded as what it means for
// work and slot, numbered, and reported; only what may have arrived is told.
func TestVerdictsInTheGovernedLane(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(len(verdicts))
	outcomes := map[work.ID]emitter.Outcome{}
	for i, verdict := range verdicts {
		outcomes[carriage.Works[i].ID] = verdict.outcome
	}
	bench.answer(outcomes)
	report := bench.do(t, carriage)
	require.Len(t, report.Results, len(verdicts))
	for i, verdict := range verdicts {
		want := verdict.governed
		want.Attempts, want.Number = 1, int64(i+1)
		require.Equal(t, want, bench.Row(carriage.Works[i].ID))
		result := report.Results[i]
		require.Equal(t, carriage.Works[i].ID, result.ID)
		require.Equal(t, want.Outcome, string(result.Outcome))
		require.Equal(t, want.Reason, result.Reason)
		require.Equal(t, want.Number, result.Number)
		retried := result.Outcome == work.OutcomeDeferred || result.Outcome == work.OutcomeSpent
		require.Equal(t, retried, !result.RetryAt.IsZero())
	}
	require.Equal(t, 7*time.Second, report.LimitedFor)
	require.Len(t, bench.sent, len(verdicts)-1, "all but the one of which nothing was sent")
	require.Len(t, bench.holds, 1)
	require.Equal(t, map[string]int{
		"attempted invoice governed emitted": 1, "attempted invoice governed deferred": 1,
		"attempted invoice governed unsent": 1, "attempted invoice governed spent": 2,
		"attempted invoice governed failed": 1,
	}, bench.meter.Counts())
}

// TestVerdictsInTheOtherLanes: what is not settled stays with its workflow, which
// Temporal retries.
func TestVerdictsInTheOtherLanes(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("ack", len(verdicts))
	outcomes := map[work.ID]emitter.Outcome{}
	for i, verdict := range verdicts {
		outcomes[carriage.Works[i].ID] = verdict.outcome
	}
	bench.answer(outcomes)
	bench.do(t, carriage)
	for i, verdict := range verdicts {
		want := verdict.urgent
		want.Attempts, want.Number = 1, int64(i+1)
		require.Equal(t, want, bench.Row(carriage.Works[i].ID))
	}
}

// TestFlowsWithoutRetryFail: attempted once, whatever does not emit them fails
// them (G6).
func TestFlowsWithoutRetryFail(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("ack", len(verdicts))
	outcomes := map[work.ID]emitter.Outcome{}
	for i, verdict := range verdicts {
		outcomes[carriage.Works[i].ID] = verdict.outcome
	}
	bench.answer(outcomes)
	once := load(carriage)
	once.NoRetry = true
	report, err := bench.engine.Do(t.Context(), once, lanetest.IDs(carriage.Works))
	require.NoError(t, err)
	for i, result := range report.Results {
		switch verdicts[i].outcome.Verdict {
		case emitter.Emitted:
			require.Equal(t, work.OutcomeEmitted, result.Outcome)
		case emitter.Rejected:
			require.Equal(t, "rejected", result.Reason)
		default:
			require.Equal(t, "not_retried", result.Reason)
			require.True(t, result.RetryAt.IsZero())
		}
		require.True(t, bench.Row(result.ID).State != work.Admitted)
	}
}
