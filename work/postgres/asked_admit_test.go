package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestAskedWorksAreAnsweredOneByOne: works asked for by ID are admitted in dispatch
// order under the asking workflow, or refused with when to come back (design
// section 3).
func TestAskedWorksAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 2)
	ids := pass.submit("e", 3*time.Hour, time.Hour, 2*time.Hour)
	other := pass.submit("e", time.Hour)
	batch := pass.admit(pass.asking("job-7", ids...))
	require.Equal(t, []string{"job-7"}, workflowIDs(batch.Carriages))
	require.Equal(t, []work.ID{ids[1], ids[2]}, carried(batch.Carriages))
	require.Equal(t, []work.Result{{
		ID: ids[0], Outcome: work.OutcomeDeferred, Reason: "quota_full", RetryAt: pass.usage().Window.End(),
	}}, batch.Refused)
	require.Equal(t, "pending", pass.state(other[0]), "nobody asked for it")
}

// TestAskingAgainTakesNoSecondSlot: what the workflow carries already comes back
// as it is; what another carries does not.
func TestAskingAgainTakesNoSecondSlot(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, 2*time.Hour)
	first := pass.admit(pass.asking("job", ids...))
	before := pass.rows(ids...)
	again := pass.admit(pass.asking("job", ids...))
	require.Equal(t, first.Carriages, again.Carriages)
	require.Zero(t, again.Granted.Total())
	require.Zero(t, again.Chosen)
	require.Equal(t, 2, pass.usage().Count)
	require.Equal(t, before, pass.rows(ids...))

	other := pass.admit(pass.asking("other job", ids...))
	require.Empty(t, other.Carriages)
	require.Empty(t, other.Refused)

	// Only one of the two left this workflow meanwhile.
	pass.exec(`UPDATE adjourn.work SET state = 'pending', lane = NULL, workflow_id = NULL,
		carried_since = NULL, slot_start = NULL, admission = NULL WHERE id = $1`, ids[0])
	mixed := pass.admit(pass.asking("job", ids...))
	require.Equal(t, work.Tally{"e": 1}, mixed.Granted)
	require.ElementsMatch(t, ids, carried(mixed.Carriages))
	require.Equal(t, 3, pass.usage().Count)
}

// TestAskedWorkInBackOffIsToldWhen: it is no refusal of the arbiter's and leaves
// no deferral; once the back-off is over the work goes, woken or not.
func TestAskedWorkInBackOffIsToldWhen(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", 2*time.Hour, 2*time.Hour)
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 h' WHERE id = $1", ids[0])
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() - INTERVAL '1 s' WHERE id = $1", ids[1])
	batch := pass.admit(pass.asking("job", ids...))
	require.Equal(t, ids[1:], carried(batch.Carriages))
	require.Len(t, batch.Refused, 1)
	require.Equal(t, ids[0], batch.Refused[0].ID)
	require.Equal(t, "back_off", batch.Refused[0].Reason)
	require.WithinDuration(t, pass.usage().Now.Add(time.Hour), batch.Refused[0].RetryAt, passSteadyFor)
	require.Empty(t, batch.Deferred)
	require.Zero(t, pass.count("SELECT count(*) FROM adjourn.deferral"))
	require.Zero(t, pass.admit(pass.options(10, 10)).Chosen, "a pass leaves back-offs alone")
}

// TestAskedWorkThatIsGone: finished, failed and unknown works are in no part of
// the answer.
func TestAskedWorkThatIsGone(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour)
	pass.exec("UPDATE adjourn.work SET state = 'failed' WHERE id = $1", ids[0])
	batch := pass.admit(pass.asking("job", ids[0], 987654))
	require.Zero(t, batch.Chosen)
	require.Empty(t, batch.Carriages)
	require.Empty(t, batch.Refused)
	require.Zero(t, pass.usage().Count)
}

// TestAskedWithoutWorkflow cuts chunks like a pass.
func TestAskedWithoutWorkflow(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, 2*time.Hour, 3*time.Hour)
	options := pass.asking("", ids...)
	options.Chunk = 2
	batch := pass.admit(options)
	require.Len(t, batch.Carriages, 2)
	require.Equal(t, work.GovernedWorkflowID(pass.usage().Window.Start, ids[0]), batch.Carriages[0].WorkflowID)
	require.Equal(t, ids, carried(batch.Carriages))
	require.Empty(t, carried(pass.admit(options).Carriages), "nobody asks who carries them")
}
