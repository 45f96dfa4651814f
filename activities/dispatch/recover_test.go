package dispatch_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/work"
)

// TestAStartThatFailsIsMadeUpFor: the work stays admitted, the failure is counted
// and told, and a later recovery starts the same workflow (G9).
func TestAStartThatFailsIsMadeUpFor(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	works := bench.Submit("invoice", lanetest.Undated(2)...)
	bench.starter.err = errors.New("no server")
	admission := run[dispatch.Admission](t, bench, bench.activities.StartGoverned)
	require.Equal(t, 1, admission.Starts.Failed)
	require.Contains(t, admission.Starts.Problem, "no server")
	require.Equal(t, 1, bench.meter.Counts()["failed governed"])
	require.Equal(t, []work.State{work.Admitted, work.Admitted}, bench.States(works))

	bench.starter.err = nil
	require.Equal(t, dispatch.Recovered{}, run[dispatch.Recovered](t, bench, bench.activities.Recover), "too early")
	bench.Exec(`UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '1h'`)
	recovered := run[dispatch.Recovered](t, bench, bench.activities.Recover)
	require.Equal(t, 1, recovered.Restarts.Started)
	require.Len(t, bench.starter.started, 1)
	require.ElementsMatch(t, works, bench.starter.started[0].Works)

	bench.Exec(`UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '1h'`)
	recovered = run[dispatch.Recovered](t, bench, bench.activities.Recover)
	require.Equal(t, dispatch.Starts{Running: 1}, recovered.Restarts, "running already is not a failure")
}

// TestRecoveryFindsWhatDiedBehind: lost attempts, expired slots, back-offs over.
func TestRecoveryFindsWhatDiedBehind(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(3)
	lost, expired, asleep := carriage.Works[0].ID, carriage.Works[1].ID, carriage.Works[2].ID
	_, err := bench.Store.Begin(t.Context(), work.BeginOptions{
		Lane: work.Governed, WorkflowID: carriage.WorkflowID, IDs: []work.ID{lost}, Window: lanetest.Window,
	})
	require.NoError(t, err)
	bench.Exec(`UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24h' WHERE id = $1`, expired)
	bench.Exec(`UPDATE adjourn.work SET state = 'pending', lane = NULL, workflow_id = NULL, carried_since = NULL,
		slot_start = NULL, admission = NULL, enforced = NULL, not_before = clock_timestamp() WHERE id = $1`, asleep)
	recovered := run[dispatch.Recovered](t, bench, bench.activities.Recover)
	require.Equal(t, dispatch.Recovered{Woken: 1, ExpiredSlots: 1, LostAttempts: 1}, recovered)
	require.Equal(t, slices.Repeat([]work.State{work.Pending}, 3), bench.States(carriage.Works))
	require.Equal(t, 1, bench.meter.Counts()["lost attempts"])
}
