package postgres

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestZombieIsFenced: a process that comes back late can neither move a work whose
// next attempt has begun, nor one that was given up, nor another lane's.
func TestZombieIsFenced(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for _, outcome := range []work.Outcome{
		work.OutcomeUnsent, work.OutcomeSpent, work.OutcomeDeferred, work.OutcomeFailed,
	} {
		id := lane.works("f", 1)[0]
		zombie := ending(lane.attempt(work.Governed, id), outcome)
		zombie.Detail = "late"
		lane.expire(id)
		require.Equal(t, 1, lane.recover().LostAttempts)
		require.Equal(t, work.Pending, lane.get(id).State)
		tables := []string{"work", "work_archive", "work_attempt"}
		before := lane.dump(tables...)
		require.Empty(t, lane.record(work.Governed, zombie), "given up: %s", outcome)
		require.Equal(t, before, lane.dump(tables...))

		second := lane.attempt(work.Governed, id)
		before = lane.dump(tables...)
		zombie.Outcome = work.OutcomeEmitted
		require.Empty(t, lane.record(work.Governed, zombie), "a newer attempt has begun")
		zombie.Outcome = outcome
		require.Empty(t, lane.record(work.Governed, zombie), "a newer attempt has begun")
		other := ending(second, outcome)
		require.Empty(t, lane.record(work.Override, other), "another lane's")
		other.Sequence++
		require.Empty(t, lane.record(work.Governed, other), "an attempt that never began")
		require.Equal(t, before, lane.dump(tables...))
	}
}

// TestLateAcceptanceCounts: whatever the work was made meanwhile, the third party
// has it; it is not emitted again, and the truth replaces the guess (G9).
func TestLateAcceptanceCounts(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*lane, work.ID){
		"pending": func(*lane, work.ID) {},
		"admitted with another slot": func(lane *lane, id work.ID) {
			lane.admit(work.Governed, "another", id)
		},
		"admitted to the override lane": func(lane *lane, id work.ID) {
			lane.admit(work.Override, "another", id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane := newLane(t)
			id := lane.works("f", 1)[0]
			attempt := lane.attempt(work.Governed, id)
			slot := lane.get(id).SlotStart
			lane.expire(id)
			lane.recover()
			require.Equal(t, "attempt_lost", lane.attempts(id)[0].Detail)
			meanwhile(lane, id)
			told := ending(attempt, work.OutcomeEmitted)
			told.Receipt = receipt
			require.Equal(t, []work.ID{id}, lane.record(work.Governed, told))
			found := lane.get(id)
			require.Equal(t, work.Emitted, found.State)
			require.Equal(t, work.Governed, found.Lane)
			require.Equal(t, slot, found.SlotStart, "the window it was made in")
			require.Equal(t, receipt, found.Receipt)
			made := lane.attempts(id)
			require.Len(t, made, 1)
			require.Equal(t, work.OutcomeEmitted, made[0].Outcome)
			require.Equal(t, slot, made[0].SlotStart)
			require.Equal(t, receipt, made[0].Receipt)
			require.Empty(t, made[0].Detail)
			require.Equal(t, []work.ID{id}, lane.record(work.Governed, told), "a repeat")
		})
	}
}

// TestLateAcceptanceEndsAFailedWork: one of a flow without retry whose process was
// slow, not dead.
func TestLateAcceptanceEndsAFailedWork(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("ack", 1)[0]
	attempt := lane.attempt(work.Exempt, id)
	lane.expire(id)
	lane.recover("ack")
	require.Equal(t, work.Failed, lane.get(id).State)
	require.Equal(t, []work.ID{id}, lane.record(work.Exempt, ending(attempt, work.OutcomeEmitted)))
	require.Equal(t, work.Emitted, lane.get(id).State)
}

// TestCancelledStaysCancelled: an operator's word is not taken back by a late
// acceptance.
func TestCancelledStaysCancelled(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	attempt := lane.attempt(work.Governed, id)
	lane.expire(id)
	lane.recover()
	require.NoError(t, lane.store.Cancel(t.Context(), id))
	require.Empty(t, lane.record(work.Governed, ending(attempt, work.OutcomeEmitted)))
	require.Equal(t, work.Cancelled, lane.get(id).State)
}

// TestRecordAndRecoveryMeet: the same attempts recorded and given up at the same
// time end either way, once, and never as both.
func TestRecordAndRecoveryMeet(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 60)
	lane.admit(work.Governed, "w", ids...)
	attempts := lane.begin(work.Governed, "w", ids...).Attempts
	lane.expire(ids...)
	var group sync.WaitGroup
	start := make(chan struct{})
	for part := range 3 {
		group.Go(func() {
			<-start
			for _, attempt := range attempts[part*20 : part*20+20] {
				if _, err := lane.store.Record(t.Context(), work.Governed,
					[]work.Ending{ending(attempt, work.OutcomeEmitted)}); err != nil {
					t.Errorf("record: %v", err)
				}
			}
		})
	}
	group.Go(func() {
		<-start
		for range 10 {
			if _, err := lane.store.Recover(t.Context(), work.RecoverOptions{
				Window: laneWindow, RestartAfter: time.Hour, Limit: 10,
				Backoff: work.Backoff{Base: time.Hour, Max: time.Hour},
			}); err != nil {
				t.Errorf("recover: %v", err)
			}
		}
	})
	close(start)
	group.Wait()
	for _, id := range ids {
		require.Equal(t, work.Emitted, lane.get(id).State)
		made := lane.attempts(id)
		require.Len(t, made, 1)
		require.Equal(t, work.OutcomeEmitted, made[0].Outcome)
	}
}
