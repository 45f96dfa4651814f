package playground_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
	"github.com/adjourn/adjourn/work"
)

// TestOverrideWhateverBecomesOfTheQuota: the window is full and then its register
// is broken, and an urgent work leaves all the same; enforced work waits and
// unknown flows go (A42, A45, A57, G2, G8).
func TestOverrideWhateverBecomesOfTheQuota(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"Dropped": "DROP TABLE adjourn.quota_window",
		"Nonsense": `ALTER TABLE adjourn.quota_window DROP CONSTRAINT quota_window_count_zero_or_positive;
			ALTER TABLE adjourn.quota_window ALTER COLUMN count TYPE TEXT USING 'many'`,
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage := newStage(t)
			stage.exec(breakIt)
			requireUrgentLeaves(stage)
		})
	}
	t.Run("Locked", func(t *testing.T) {
		t.Parallel()
		stage := newStage(t)
		tx, err := stage.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
		_, err = tx.Exec(t.Context(), "LOCK TABLE adjourn.quota_window IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		requireUrgentLeaves(stage)
	})
}

func requireUrgentLeaves(stage *stage) {
	t := stage.t
	now, err := stage.Now(t.Context())
	require.NoError(t, err)
	waiting := stage.submit("invoice", 3, time.Time{})
	stage.submit("invoice", 1, now.Add(time.Minute))
	stage.submit("invoice", 1, now.Add(-time.Minute)) // overdue is closing too
	stage.submit("survey", 1, time.Time{})
	stage.worker()
	arrivals := stage.arrivals("two overrides and the unknown flow", func(arrivals []thirdparty.Arrival) bool {
		return len(byLane(arrivals, work.Override)) == 2 && len(byLane(arrivals, work.Exempt)) == 1
	})
	require.Empty(t, byLane(arrivals, work.Governed), "enforced work waits while the arbiter is in error")
	stage.eventually("each waiting work is deferred, and says why", `
SELECT count(*) = 3 FROM adjourn.deferral WHERE work_id = ANY($1) AND reason = 'arbiter_unavailable'`, waiting)
	stage.eventually("the overdue one is marked late, the other is not", `
SELECT count(*) FILTER (WHERE late) = 1 AND count(*) FILTER (WHERE NOT late) = 2 FROM adjourn.work_archive`)
	stage.requireWitness()
}

// TestCeilingBelowOne refuses everything enforced and nothing else; a hundred
// refusals use up no number (A20, A35, A47, A57, A58, G3, G5, G6, G7).
func TestCeilingBelowOne(t *testing.T) {
	t.Parallel()
	for _, ceiling := range []string{"0", "-1"} {
		t.Run(ceiling, func(t *testing.T) {
			t.Parallel()
			stage := newStage(t)
			invoices := stage.submit("invoice", 100, time.Time{})
			stage.submit("ack", 2, time.Time{})
			stage.submit("survey", 2, time.Time{})
			refusing := stage.worker("QUOTA_HOURLY_CEILING=" + ceiling)
			stage.arrivals("the flows that are never throttled", func(arrivals []thirdparty.Arrival) bool {
				return len(byLane(arrivals, work.Exempt)) == 4
			})
			stage.eventually("every invoice is deferred once",
				"SELECT count(*) = 100 FROM adjourn.deferral WHERE work_id = ANY($1)", invoices)
			require.Zero(t, stage.number("SELECT count(*) FROM adjourn.sequence WHERE stream = 'invoice'"))
			require.Equal(t, 100, stage.number(
				"SELECT count(*) FROM adjourn.work WHERE state = 'pending' AND attempts = 0 AND number IS NULL"))
			require.NoError(t, refusing.Stop())

			stage.worker("QUOTA_HOURLY_CEILING=1000")
			arrivals := stage.arrivals("the invoices", func(arrivals []thirdparty.Arrival) bool {
				return len(byLane(arrivals, work.Governed)) == 100
			})
			require.Equal(t, 104, effects(arrivals))
			stage.requireWitness()
			require.Zero(t, activityFailures(stage), "a refusal is no failure (A27, A28)")
		})
	}
}

// TestCeilingHoldsOverProcesses: one budget for everybody, however many there are
// (A03, A07, A17, G1), and no payload in any history (G10).
func TestCeilingHoldsOverProcesses(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	stage.submit("invoice", 200, time.Time{})
	for range 3 {
		stage.worker("QUOTA_HOURLY_CEILING=50")
	}
	stage.process(nil, "QUOTA_HOURLY_CEILING=50")
	stage.eventually("what has no slot is deferred",
		"SELECT count(*) = 150 FROM adjourn.deferral WHERE reason = 'quota_full'")
	arrivals := stage.arrivals("the fifty that were granted", func(arrivals []thirdparty.Arrival) bool {
		return effects(arrivals) == 50
	})
	require.Len(t, arrivals, 50)
	require.Equal(t, 50, stage.number("SELECT sum(count) FROM adjourn.quota_window"))
	stage.requireWitness()
	require.NotContains(t, allHistories(stage), "the payload of a work")
}

// TestObserve: all flags off, everything goes, and what would have been deferred
// is counted (A50, A53, A54, G11).
func TestObserve(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	stage.submit("invoice", 5, time.Time{})
	stage.worker("QUOTA_HOURLY_CEILING=3", "QUOTA_ENFORCE=invoice:false")
	stage.arrivals("all five", func(arrivals []thirdparty.Arrival) bool { return effects(arrivals) == 5 })
	require.Equal(t, 2, stage.number(
		"SELECT sum(count) FROM adjourn.quota_figure WHERE decision = 'would_defer'"))
	require.Equal(t, 3, stage.number(
		"SELECT sum(count) FROM adjourn.quota_figure WHERE decision = 'granted'"))
	require.Equal(t, 5, stage.number("SELECT sum(count) FROM adjourn.quota_window"),
		"observed emissions are real: they use the window")
}

// TestThirdPartyLimit: its 429 holds the quota for everybody, and the work goes
// when the hold is over, under its number.
func TestThirdPartyLimit(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	require.NoError(t, stage.Stack.ThirdParty.Behave(thirdparty.Behaviour{
		Kind: thirdparty.KindAnswer, Status: 429, RetryAfter: "3", Requests: 1,
	}))
	stage.submit("invoice", 1, time.Time{})
	stage.worker()
	arrivals := stage.arrivals("both attempts", func(arrivals []thirdparty.Arrival) bool { return len(arrivals) == 2 })
	require.Equal(t, arrivals[0].Number, arrivals[1].Number)
	require.Equal(t, arrivals[0].IdempotencyKey, arrivals[1].IdempotencyKey)
	require.GreaterOrEqual(t, arrivals[1].At.Sub(arrivals[0].At), 2*time.Second, "the hold")
	require.Equal(t, 2, stage.number("SELECT sum(count) FROM adjourn.quota_window"), "a slot each")
	stage.requireWitness()
}

// allHistories is every workflow's history as JSON text.
func allHistories(stage *stage) string {
	t := stage.t
	var text strings.Builder
	listed, err := stage.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, listed.GetExecutions())
	for _, execution := range listed.GetExecutions() {
		events := stage.Temporal.GetWorkflowHistory(t.Context(), execution.GetExecution().GetWorkflowId(),
			execution.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			for _, payload := range event.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads() {
				text.Write(payload.GetData())
			}
			for _, payload := range event.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads() {
				text.Write(payload.GetData())
			}
			for _, payload := range event.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads() {
				text.Write(payload.GetData())
			}
			encoded, err := protojson.Marshal(event)
			require.NoError(t, err)
			text.Write(encoded)
		}
	}
	return text.String()
}

func activityFailures(stage *stage) int {
	return strings.Count(allHistories(stage), "EVENT_TYPE_ACTIVITY_TASK_FAILED")
}
