package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// stand is where a work may stand: its state and, while carried, its lane.
type stand struct {
	state work.State
	lane  work.Lane
}

func stands() []stand {
	return []stand{
		{work.Pending, ""},
		{work.Admitted, work.Governed},
		{work.Admitted, work.Override},
		{work.Admitted, work.Exempt},
		{work.Attempting, work.Governed},
		{work.Attempting, work.Override},
		{work.Attempting, work.Exempt},
		{work.Emitted, work.Governed},
		{work.Failed, ""},
		{work.Cancelled, ""},
	}
}

// put makes a work that stands there, carried by workflow "w" where it is carried.
// Works that are not in flight have had one attempt, so that they have a number.
func (lane *lane) put(where stand) work.ID {
	lane.t.Helper()
	id := lane.works("f", 1)[0]
	name := where.lane
	if name == "" {
		name = work.Governed
	}
	attempt := lane.attempt(name, id)
	switch where.state {
	case work.Pending:
		lane.record(work.Governed, ending(attempt, work.OutcomeSpent))
	case work.Admitted:
		lane.record(name, ending(attempt, work.OutcomeUnsent))
	case work.Attempting:
	case work.Emitted:
		lane.record(name, ending(attempt, work.OutcomeEmitted))
	case work.Failed:
		lane.record(name, ending(attempt, work.OutcomeFailed))
	case work.Cancelled:
		lane.record(name, ending(attempt, work.OutcomeSpent))
		require.NoError(lane.t, lane.store.Cancel(lane.t.Context(), id))
	}
	found := lane.get(id)
	require.Equal(lane.t, where.state, found.State)
	require.Equal(lane.t, 1, found.Attempts)
	return id
}

// TestEveryStepAndEveryRefusedOne: everything the store does to a work, from
// everywhere a work can stand. Either it leads where this table says, and the
// domain allows that step, or the row is left exactly as it was.
func TestEveryStepAndEveryRefusedOne(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ctx := t.Context()
	operations := map[string]func(work.ID) error{
		"release": func(id work.ID) error {
			_, err := lane.store.Release(ctx, work.ReleaseOptions{WorkflowID: "w", IDs: []work.ID{id}, Reason: "cadence"})
			return err
		},
		"cancel": func(id work.ID) error { return lane.store.Cancel(ctx, id) },
		"retry":  func(id work.ID) error { return lane.store.Retry(ctx, id) },
	}
	steps := map[string]map[stand]work.State{
		"release": {{work.Admitted, work.Governed}: work.Pending},
		"cancel": {
			{work.Pending, ""}: work.Cancelled, {work.Failed, ""}: work.Cancelled,
			{work.Admitted, work.Governed}: work.Cancelled, {work.Admitted, work.Override}: work.Cancelled,
			{work.Admitted, work.Exempt}: work.Cancelled,
		},
		"retry": {{work.Failed, ""}: work.Pending},
	}
	for _, name := range work.Lanes() {
		begin := "begin " + string(name)
		operations[begin] = func(id work.ID) error {
			_, err := lane.store.Begin(ctx, beginOptions(name, "w", id))
			return err
		}
		steps[begin] = map[stand]work.State{{work.Admitted, name}: work.Attempting}
		for _, outcome := range work.Outcomes() {
			record := fmt.Sprintf("record %s %s", name, outcome)
			operations[record] = func(id work.ID) error {
				_, err := lane.store.Record(ctx, name, []work.Ending{{ID: id, Sequence: 1, Outcome: outcome, Detail: "d"}})
				return err
			}
			steps[record] = map[stand]work.State{{work.Attempting, name}: endState(name, outcome)}
			if outcome != work.OutcomeEmitted {
				continue
			}
			for _, where := range stands() { // an acceptance counts as long as no newer attempt has begun
				if where.state != work.Emitted && where.state != work.Cancelled {
					steps[record][where] = work.Emitted
				}
			}
		}
	}
	for operation, do := range operations {
		for _, from := range stands() {
			id := lane.put(from)
			before := lane.rowOf(id)
			err := do(id)
			to, moves := steps[operation][from]
			if !moves {
				require.Equal(t, before, lane.rowOf(id), "%s from %v", operation, from)
				requireRefused(t, operation, from, err)
				continue
			}
			require.NoError(t, err, "%s from %v", operation, from)
			require.Equal(t, to, lane.get(id).State, "%s from %v", operation, from)
			require.True(t, from.state.CanBecome(to), "%s from %v to %s", operation, from, to)
		}
	}
}

func endState(name work.Lane, outcome work.Outcome) work.State {
	switch {
	case outcome == work.OutcomeEmitted:
		return work.Emitted
	case outcome == work.OutcomeFailed:
		return work.Failed
	case outcome == work.OutcomeUnsent || name != work.Governed:
		return work.Admitted
	}
	return work.Pending
}

// requireRefused: an operator is told why; a lane learns it from the answer.
func requireRefused(t *testing.T, operation string, from stand, err error) {
	t.Helper()
	if operation != "cancel" && operation != "retry" {
		require.NoError(t, err, "%s from %v", operation, from)
		return
	}
	refusal := new(work.StateError)
	require.ErrorAs(t, err, &refusal, "%s from %v", operation, from)
	require.Equal(t, from.state, refusal.State)
	require.Equal(t, operation, refusal.Action)
	require.NotContains(t, refusal.Accepted, from.state)
}

// rowOf is a work as it is stored, wherever, down to the version of its row.
func (lane *lane) rowOf(id work.ID) []string {
	lane.t.Helper()
	return laneRead[string](lane, `
		SELECT ctid || ' ' || xmin || ' ' || w::TEXT FROM adjourn.work AS w WHERE id = $1
		 UNION ALL
		SELECT ctid || ' ' || xmin || ' ' || a::TEXT FROM adjourn.work_archive AS a WHERE id = $1`, id)
}

// TestConstraintsHold: what the code never does the database refuses too, each by
// its named rule.
func TestConstraintsHold(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	run := func(statement string, arguments ...any) error {
		_, err := lane.pool.Exec(t.Context(), statement, arguments...)
		return err
	}
	set := func(where stand, change string) error {
		return run("UPDATE adjourn.work SET "+change+" WHERE id = $1", lane.put(where))
	}
	pending, failed := stand{work.Pending, ""}, stand{work.Failed, ""}
	governed, attempting := stand{work.Admitted, work.Governed}, stand{work.Attempting, work.Exempt}
	lane.put(stand{work.Emitted, work.Governed})
	for _, test := range []struct {
		constraint string
		violation  error
	}{
		{"work_state_known", set(pending, "state = 'emitted'")},
		{"work_state_known", set(pending, "state = 'dreaming'")},
		{"work_lane_known", set(governed, "lane = 'fast', slot_start = NULL")},
		{"work_admission_known", set(governed, "admission = 'begged', enforced = FALSE")},
		{"work_pending_is_free", set(pending, "lane = 'exempt'")},
		{"work_pending_is_free", set(pending, "workflow_id = 'w'")},
		{"work_pending_is_free", set(pending, "slot_start = now()")},
		{"work_pending_is_free", set(failed, "carried_since = now()")},
		{"work_pending_is_free", set(attempting, "state = 'failed', lane = NULL, workflow_id = NULL, carried_since = NULL")},
		{"work_in_flight_is_carried", set(pending, "state = 'admitted', lane = 'exempt'")},
		{"work_in_flight_is_carried", set(attempting, "workflow_id = NULL")},
		{"work_governed_has_window", set(governed, "slot_start = NULL")},
		{"work_governed_has_window", set(governed, "enforced = NULL")},
		{"work_enforced_has_slot", set(governed, "admission = 'would_defer'")},
		{"work_attempting_is_numbered", set(attempting, "number = NULL")},
		{"work_attempting_is_numbered", set(attempting, "attempts = 0")},
		{"work_attempting_is_numbered", set(attempting, "attempt_expires_at = NULL")},
		{"work_backoff_is_pending", set(governed, "not_before = now()")},
		{"work_backoff_is_pending", set(failed, "not_before = now()")},
		{"work_number_positive", set(pending, "number = 0")},
		{"work_attempts_zero_or_positive", set(pending, "attempts = -1")},
		{"work_number_once", set(pending, "number = (SELECT max(number) FROM adjourn.work WHERE id <> $1)")},
		{"work_archive_state_known", run("UPDATE adjourn.work_archive SET state = 'pending'")},
		{"work_archive_emitted_is_numbered", run("UPDATE adjourn.work_archive SET number = NULL")},
		{"work_attempt_outcome_known", run("UPDATE adjourn.work_attempt SET outcome = 'maybe'")},
		{"sequence_last_positive", run("INSERT INTO adjourn.sequence VALUES ('s', 0)")},
		{"flow_name_accepted", run("INSERT INTO adjourn.flow (name) VALUES ('A')")},
		{"work_key_bounded", run("INSERT INTO adjourn.work_key VALUES ('', 1, '')")},
		{"work_key_pkey", run("INSERT INTO adjourn.work_key SELECT * FROM adjourn.work_key LIMIT 1")},
		{"work_attempt_pkey", run("INSERT INTO adjourn.work_attempt SELECT * FROM adjourn.work_attempt LIMIT 1")},
	} {
		violation := new(pgconn.PgError)
		require.ErrorAs(t, test.violation, &violation, test.constraint)
		require.Equal(t, test.constraint, violation.ConstraintName, violation.Message)
	}
}
