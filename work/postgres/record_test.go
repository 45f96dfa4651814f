package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

var receipt = work.Receipt{Status: 201, Reference: "r-1", Answer: `{"ok":true}`}

// TestRecordMovesTheWork: each outcome in each lane, what becomes of work and
// slot, and the attempt on record.
func TestRecordMovesTheWork(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	next := map[work.Outcome]map[work.Lane]work.State{
		work.OutcomeEmitted:  {work.Governed: work.Emitted, work.Override: work.Emitted, work.Exempt: work.Emitted},
		work.OutcomeFailed:   {work.Governed: work.Failed, work.Override: work.Failed, work.Exempt: work.Failed},
		work.OutcomeUnsent:   {work.Governed: work.Admitted, work.Override: work.Admitted, work.Exempt: work.Admitted},
		work.OutcomeDeferred: {work.Governed: work.Pending, work.Override: work.Admitted, work.Exempt: work.Admitted},
		work.OutcomeSpent:    {work.Governed: work.Pending, work.Override: work.Admitted, work.Exempt: work.Admitted},
	}
	require.Len(t, next, len(work.Outcomes()))
	for outcome, lanes := range next {
		for name, state := range lanes {
			id := lane.works("f", 1)[0]
			attempt := lane.attempt(name, id)
			before := lane.get(id)
			told := ending(attempt, outcome)
			told.Detail, told.Receipt, told.RetryIn = "detail", receipt, 90*time.Second
			if outcome != work.OutcomeEmitted {
				told.Reason = "why"
			}
			asked := lane.now()
			require.Equal(t, []work.ID{id}, lane.record(name, told), "%s %s", name, outcome)
			found := lane.get(id)
			requireEnding(t, before, told, state, asked, found)
			made := lane.attempts(id)
			require.Len(t, made, 1)
			require.WithinRange(t, made[0].EndedAt, asked, lane.now())
			require.Equal(t, work.Made{
				Sequence: 1, Lane: name, SlotStart: before.SlotStart, Admission: before.Admission,
				Enforced: before.Enforced, Number: attempt.Number, BegunAt: attempt.BegunAt,
				EndedAt: made[0].EndedAt, Outcome: outcome, Spent: outcome != work.OutcomeUnsent,
				Receipt: receipt, Detail: "detail",
			}, made[0])
		}
	}
}

// requireEnding compares the work's row with what the ending makes of it.
func requireEnding(
	t *testing.T, before work.Work, told work.Ending, state work.State, asked time.Time, found work.Work,
) {
	t.Helper()
	want := before
	want.State, want.Outcome, want.Reason, want.Detail = state, told.Outcome, told.Reason, told.Detail
	want.AttemptExpiresAt = time.Time{}
	switch state {
	case work.Emitted:
		require.False(t, found.FinishedAt.Before(asked))
		want.Detail, want.Receipt, want.FinishedAt = "", told.Receipt, found.FinishedAt
		want.CarriedSince, want.AttemptBegunAt = time.Time{}, time.Time{}
	case work.Admitted:
		require.False(t, found.CarriedSince.Before(asked), "it stands still from now on")
		want.CarriedSince = found.CarriedSince
	case work.Pending, work.Failed:
		want.Lane, want.WorkflowID, want.CarriedSince = "", "", time.Time{}
		want.SlotStart, want.Admission, want.Enforced = time.Time{}, "", false
		if told.Outcome == work.OutcomeSpent {
			require.WithinRange(t, found.NotBefore, asked.Add(told.RetryIn), asked.Add(told.RetryIn+lanePatience))
			want.NotBefore = found.NotBefore
		}
	case work.Attempting, work.Cancelled:
		require.Fail(t, "no ending leads there", state)
	}
	require.Equal(t, want, found)
}

// TestEmittedLeavesTheHotTable: to the archive, its payload and key kept as long
// as it is.
func TestEmittedLeavesTheHotTable(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	lane.record(work.Exempt, ending(lane.attempt(work.Exempt, id), work.OutcomeEmitted))
	for table, rows := range map[string]int{
		"work": 0, "work_archive": 1, "work_payload": 1, "work_key": 1, "work_attempt": 1,
	} {
		require.Len(t, lane.dump(table)[table], rows, table)
	}
}

// TestUnsentKeepsItsSlot: the next attempt goes in the same window, with the same
// number, and counts anew.
func TestUnsentKeepsItsSlot(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	first := lane.attempt(work.Governed, id)
	slot := lane.get(id).SlotStart
	lane.record(work.Governed, ending(first, work.OutcomeUnsent))
	begun := lane.begin(work.Governed, "w", id)
	require.Len(t, begun.Attempts, 1)
	require.Equal(t, 2, begun.Attempts[0].Sequence)
	require.Equal(t, first.Number, begun.Attempts[0].Number)
	require.Equal(t, slot, lane.get(id).SlotStart)
}

// TestSpentNeedsAnotherSlot: the workflow that carried it can begin it no more
// (G1).
func TestSpentNeedsAnotherSlot(t *testing.T) {
	t.Parallel()
	for _, outcome := range []work.Outcome{work.OutcomeSpent, work.OutcomeDeferred} {
		lane := newLane(t)
		id := lane.works("f", 1)[0]
		lane.record(work.Governed, ending(lane.attempt(work.Governed, id), outcome))
		require.Equal(t, work.Begun{Gone: []work.ID{id}}, lane.begin(work.Governed, "w", id))
	}
}

// TestBackOffEndsWithTheNextAdmission, and one that waits for nothing is none.
func TestBackOffEndsWithTheNextAdmission(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	lane.record(work.Governed, ending(lane.attempt(work.Governed, id), work.OutcomeSpent))
	require.True(t, lane.get(id).NotBefore.IsZero())
	told := ending(lane.attempt(work.Governed, id), work.OutcomeSpent)
	told.RetryIn = time.Hour
	lane.record(work.Governed, told)
	require.False(t, lane.get(id).NotBefore.IsZero())
	lane.attempt(work.Override, id)
	require.True(t, lane.get(id).NotBefore.IsZero())
}

// TestLate is emitted after the deadline; an overdue work is emitted all the same.
func TestLate(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for late, deadline := range map[bool]time.Duration{true: -time.Minute, false: time.Hour} {
		id := lane.submit(work.Submission{Flow: "f", Deadline: lane.now().Add(deadline)})
		lane.record(work.Override, ending(lane.attempt(work.Override, id), work.OutcomeEmitted))
		require.Equal(t, late, lane.get(id).Late)
	}
	// Emitted in time, recorded long after: the attempt was over before.
	id := lane.submit(work.Submission{Flow: "f", Deadline: lane.now().Add(-time.Second)})
	attempt := lane.attempt(work.Override, id)
	lane.exec(`UPDATE adjourn.work SET attempt_expires_at = deadline - INTERVAL '1 s' WHERE id = $1`, id)
	lane.record(work.Override, ending(attempt, work.OutcomeEmitted))
	require.False(t, lane.get(id).Late)
	undated := lane.works("f", 1)[0]
	lane.record(work.Override, ending(lane.attempt(work.Override, undated), work.OutcomeEmitted))
	require.False(t, lane.get(undated).Late)
}

// TestRecordTakesAnybodysBytes: what the third party answers may be no text at all;
// an ending that could not be written would be made again.
func TestRecordTakesAnybodysBytes(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	told := ending(lane.attempt(work.Exempt, id), work.OutcomeEmitted)
	told.Detail = "a\x00b\xff'; DROP TABLE adjourn.work; --"
	told.Receipt = work.Receipt{Status: 200, Reference: "\xc3(\x00", Answer: strings.Repeat("\x00\xff", 1000)}
	require.Equal(t, []work.ID{id}, lane.record(work.Exempt, told))
	found := lane.get(id)
	require.Equal(t, "\uFFFD(\uFFFD", found.Receipt.Reference)
	require.Equal(t, strings.Repeat("\uFFFD\uFFFD", 1000), found.Receipt.Answer)
	require.Equal(t, "a\uFFFDb\uFFFD'; DROP TABLE adjourn.work; --", lane.attempts(id)[0].Detail)
	require.Equal(t, []work.ID{id}, lane.record(work.Exempt, told), "and its repeat is known again")
}

// TestRecordRepeated changes nothing, and answers that the ending is on record.
func TestRecordRepeated(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for _, name := range work.Lanes() {
		for _, outcome := range work.Outcomes() {
			id := lane.works("f", 1)[0]
			told := ending(lane.attempt(name, id), outcome)
			told.Reason, told.Detail, told.Receipt, told.RetryIn = "why", "detail", receipt, time.Hour
			lane.record(name, told)
			tables := []string{"work", "work_archive", "work_attempt", "work_payload", "sequence"}
			before := lane.dump(tables...)
			for range 3 {
				require.Equal(t, []work.ID{id}, lane.record(name, told), "%s %s", name, outcome)
			}
			require.Equal(t, before, lane.dump(tables...), "%s %s", name, outcome)
		}
	}
}

// TestRecordOfManyIsEachItsOwn: endings of all kinds in one statement, one of them
// told twice, one of nobody.
func TestRecordOfManyIsEachItsOwn(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 5)
	lane.admit(work.Governed, "w", ids...)
	var endings []work.Ending
	for i, attempt := range lane.begin(work.Governed, "w", ids...).Attempts {
		endings = append(endings, ending(attempt, work.Outcomes()[i]))
	}
	twice := endings[0]
	twice.Outcome = work.OutcomeSpent
	endings = append([]work.Ending{twice}, endings...)
	endings = append(endings, work.Ending{ID: 1 << 40, Sequence: 1, Outcome: work.OutcomeEmitted})
	require.Equal(t, ids, lane.record(work.Governed, endings...))
	states := []work.State{work.Emitted, work.Pending, work.Admitted, work.Pending, work.Failed}
	for i, id := range ids {
		require.Equal(t, states[i], lane.get(id).State)
	}
	require.Empty(t, lane.record(work.Governed))
}
