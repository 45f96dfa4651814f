package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// reading is a process's clocks some time after an arbitrary moment, both alike.
func reading(after time.Duration) instant {
	return instant{wall: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC).Add(after), elapsed: after}
}

// full is an answer half an hour before the window's end, with 10 slots taken.
func full() quota.Grant {
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	usage := quota.Usage{Window: quota.WindowAt(now, time.Hour), Now: now, Count: 10}
	return quota.Decide(usage, 10, 1)
}

// TestKnownFullRefusesUntilTheTurn: as the database would, by its clock, and never
// after the window is over, whatever this process's own wall clock shows.
func TestKnownFullRefusesUntilTheTurn(t *testing.T) {
	t.Parallel()
	var known knownFull
	_, refused := known.refuse(reading(0), 10, 1)
	require.False(t, refused, "nothing is known yet")
	known.learn(reading(0), full())

	later, refused := known.refuse(reading(20*time.Minute), 10, 3)
	require.True(t, refused)
	want := full()
	want.Now = want.Now.Add(20 * time.Minute)
	require.Equal(t, want, later)
	_, refused = known.refuse(reading(30*time.Minute-1), 10, 1)
	require.True(t, refused, "the last instant of the window")
	_, refused = known.refuse(reading(30*time.Minute), 10, 1)
	require.False(t, refused, "the first instant of the next")
}

// TestKnownFullTrustsNoClockAlone: a wall clock set back does not prolong the
// memory, nor does a monotonic clock that stood still while the machine slept.
func TestKnownFullTrustsNoClockAlone(t *testing.T) {
	t.Parallel()
	var known knownFull
	known.learn(reading(0), full())
	_, refused := known.refuse(instant{wall: reading(-time.Hour).wall, elapsed: 30 * time.Minute}, 10, 1)
	require.False(t, refused, "the wall clock was set back")
	_, refused = known.refuse(instant{wall: reading(30 * time.Minute).wall, elapsed: time.Second}, 10, 1)
	require.False(t, refused, "the machine slept")
}

// TestKnownFullObeysEachCeiling: only a ceiling that the count has reached is
// refused from memory.
func TestKnownFullObeysEachCeiling(t *testing.T) {
	t.Parallel()
	var known knownFull
	known.learn(reading(0), full())
	for ceiling, want := range map[int32]bool{-1: true, 0: true, 9: true, 10: true, 11: false, 1000: false} {
		_, refused := known.refuse(reading(0), ceiling, 1)
		require.Equal(t, want, refused, "ceiling %d", ceiling)
	}
	nothing, known10 := known.refuse(reading(0), 10, 0)
	require.True(t, known10)
	require.False(t, nothing.Refused(), "asking for nothing is never refused")
}

// TestKnownFullLearnsFromEveryAnswer: a grant tells the count as a refusal does; a
// hold, whose end is not the window's, is forgotten along with what was known.
func TestKnownFullLearnsFromEveryAnswer(t *testing.T) {
	t.Parallel()
	var known knownFull
	usage := quota.Usage{Window: full().Window, Now: full().Now, Count: 10}
	known.learn(reading(0), quota.Decide(usage, 20, 10))
	refusal, refused := known.refuse(reading(0), 20, 1)
	require.True(t, refused, "the grant filled the window")
	require.Equal(t, 20, refusal.Count)

	usage.HeldUntil = usage.Now.Add(time.Minute)
	known.learn(reading(0), quota.Decide(usage, 10, 1))
	_, refused = known.refuse(reading(0), 10, 1)
	require.False(t, refused, "held and full")

	known.learn(reading(0), quota.Decide(usage, 10, 0))
	_, refused = known.refuse(reading(0), 10, 1)
	require.False(t, refused, "where nothing was asked a hold does not show")
}

// TestCombinerAsksNothingWhileFull: after one refusal no statement is sent until
// the window turns by the database's clock, counted from before the question.
func TestCombinerAsksNothingWhileFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(10)
		combiner := newCombiner(database.reserve, time.Hour)
		defer combiner.close()
		first := asking(t.Context(), combiner, 10, 1)
		time.Sleep(time.Minute) // the question is slow: its answer is a minute old
		database.gate <- nil
		require.True(t, (<-first).grant.Refused())

		for range 28 {
			time.Sleep(time.Minute)
			grant, err := combiner.Reserve(t.Context(), 10, 1)
			require.NoError(t, err)
			require.Equal(t, quota.ReasonQuotaFull, grant.Reason)
		}
		require.Len(t, database.asked, 1)

		time.Sleep(time.Minute) // the half hour is over, counted from the question
		turned := asking(t.Context(), combiner, 10, 1)
		require.Len(t, database.asked, 2)
		database.gate <- nil
		<-turned
	})
}
