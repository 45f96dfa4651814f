package postgres

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// statement is a database that answers when the test says so.
type statement struct {
	usage quota.Usage
	gate  chan error // each receive lets one statement answer
	asked []int      // slots of each statement, in order
	limit []int32    // ceiling of each statement
}

func newStatement(count int) *statement {
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	return &statement{
		usage: quota.Usage{Window: quota.WindowAt(now, time.Hour), Now: now, Count: count},
		gate:  make(chan error),
	}
}

func (statement *statement) reserve(ctx context.Context, ceiling int32, slots int) (quota.Grant, error) {
	statement.asked = append(statement.asked, slots)
	statement.limit = append(statement.limit, ceiling)
	select {
	case err := <-statement.gate:
		if err != nil {
			return quota.Grant{}, err
		}
	case <-ctx.Done():
		return quota.Grant{}, ctx.Err()
	}
	grant := quota.Decide(statement.usage, ceiling, slots)
	statement.usage.Count = grant.Count
	return grant, nil
}

// asking starts one caller and returns once it waits; its answer arrives on the
// channel.
func asking(ctx context.Context, combiner *combiner, ceiling int32, slots int) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		grant, err := combiner.Reserve(ctx, ceiling, slots)
		answers <- answer{grant, err}
	}()
	synctest.Wait()
	return answers
}

// TestCombinerAsksOnceForAllWhoWait: while one statement is in flight the others
// queue, and the next asks for all, handing out in the order of arrival.
func TestCombinerAsksOnceForAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		first := asking(t.Context(), combiner, 10, 1)
		waiting := []<-chan answer{
			asking(t.Context(), combiner, 10, 4),
			asking(t.Context(), combiner, 10, -3),
			asking(t.Context(), combiner, 10, 4),
			asking(t.Context(), combiner, 10, 4),
			asking(t.Context(), combiner, 10, 1),
			asking(t.Context(), combiner, 10, 0),
		}
		database.gate <- nil
		require.Equal(t, 1, (<-first).grant.Slots)
		database.gate <- nil
		want := []quota.Grant{
			{Slots: 4, Count: 5},
			{Slots: 0, Count: 5},
			{Slots: 4, Count: 9},
			{Slots: 1, Count: 10, Reason: quota.ReasonQuotaFull},
			{Slots: 0, Count: 10, Reason: quota.ReasonQuotaFull},
			{Slots: 0, Count: 10},
		}
		for i, answers := range waiting {
			answered := <-answers
			require.NoError(t, answered.err)
			want[i].Window, want[i].Now = database.usage.Window, database.usage.Now
			if want[i].Refused() {
				want[i].RetryAt = database.usage.Window.End()
			}
			require.Equal(t, want[i], answered.grant, "caller %d", i)
		}
		require.Equal(t, []int{1, 13}, database.asked, "two statements")
	})
}

// TestCombinerKeepsCeilingsApart: a ceiling that changes between two callers is
// obeyed for each.
func TestCombinerKeepsCeilingsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		first := asking(t.Context(), combiner, 10, 1)
		low := asking(t.Context(), combiner, 3, 5)
		high := asking(t.Context(), combiner, 10, 5)
		none := asking(t.Context(), combiner, 0, 5)
		low2 := asking(t.Context(), combiner, 3, 1)
		for range 4 {
			database.gate <- nil
		}
		require.Equal(t, 1, (<-first).grant.Slots)
		require.Equal(t, 2, (<-low).grant.Slots)
		require.Equal(t, 0, (<-low2).grant.Slots)
		require.Equal(t, 5, (<-high).grant.Slots)
		require.Equal(t, 0, (<-none).grant.Slots)
		require.Equal(t, []int32{10, 3, 10, 0}, database.limit)
		require.Equal(t, []int{1, 6, 5, 5}, database.asked)
	})
}

// TestCombinerCallerGivesUpInFlight: the share of a caller that gave up stays
// counted and is nobody else's (A37, A38); the others are not disturbed.
func TestCombinerCallerGivesUpInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		first := asking(t.Context(), combiner, 10, 1)
		ctx, giveUp := context.WithCancel(t.Context())
		leaving := asking(ctx, combiner, 10, 4)
		staying := asking(t.Context(), combiner, 10, 4)
		database.gate <- nil
		<-first
		synctest.Wait() // the second statement is in flight
		giveUp()
		require.ErrorIs(t, (<-leaving).err, context.Canceled)
		database.gate <- nil
		require.Equal(t, 9, (<-staying).grant.Count)
		require.Equal(t, 9, database.usage.Count, "over-counted, never under-counted")
	})
}

// TestCombinerCallerGivesUpInTheQueue: nothing is asked for who left before.
func TestCombinerCallerGivesUpInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		first := asking(t.Context(), combiner, 10, 1)
		ctx, giveUp := context.WithCancel(t.Context())
		leaving := asking(ctx, combiner, 10, 4)
		giveUp()
		require.ErrorIs(t, (<-leaving).err, context.Canceled)
		staying := asking(t.Context(), combiner, 10, 4)
		database.gate <- nil
		<-first
		database.gate <- nil
		require.Equal(t, 5, (<-staying).grant.Count)
		require.Equal(t, []int{1, 4}, database.asked)
	})
}

// TestCombinerErrorIsEveryonesAndPasses: an error reaches all whom the statement
// served, and the next statement is not touched by it.
func TestCombinerErrorIsEveryonesAndPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		broken := errors.New("out of order")
		first := asking(t.Context(), combiner, 10, 1)
		one, two := asking(t.Context(), combiner, 10, 1), asking(t.Context(), combiner, 10, 1)
		database.gate <- nil
		<-first
		database.gate <- broken
		for _, answers := range []<-chan answer{one, two} {
			answered := <-answers
			require.ErrorIs(t, answered.err, broken)
			require.Zero(t, answered.grant)
		}
		after := asking(t.Context(), combiner, 10, 1)
		database.gate <- nil
		require.Equal(t, 2, (<-after).grant.Count)
	})
}

// TestCombinerBoundsTheStatement: one that does not answer ends by itself.
func TestCombinerBoundsTheStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		defer combiner.close()
		begun := time.Now()
		_, err := combiner.Reserve(t.Context(), 10, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begun))
	})
}

// TestCombinerBoundsItsQueue: who finds it full waits for a place on its own time.
func TestCombinerBoundsItsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Hour)
		defer combiner.close()
		first := asking(t.Context(), combiner, math.MaxInt32, 1)
		waiting := make([]*call, queueMax)
		for i := range waiting {
			waiting[i] = &call{
				ctx: t.Context(), ceiling: math.MaxInt32, slots: 1, answer: make(chan answer, 1),
			}
			combiner.queue <- waiting[i]
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := combiner.Reserve(ctx, math.MaxInt32, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		patient := asking(t.Context(), combiner, math.MaxInt32, 1)
		database.gate <- nil
		<-first
		database.gate <- nil
		for i, one := range waiting {
			require.Equal(t, i+2, (<-one.answer).grant.Count)
		}
		database.gate <- nil
		require.Equal(t, queueMax+2, (<-patient).grant.Count)
		require.Equal(t, []int{1, queueMax, 1}, database.asked)
	})
}

// TestCombinerClose: the statement in flight ends and is answered; who waits and
// who comes later learns that the arbiter is closed.
func TestCombinerClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := newStatement(0)
		combiner := newCombiner(database.reserve, time.Minute)
		inFlight := asking(t.Context(), combiner, 10, 1)
		waiting := asking(t.Context(), combiner, 10, 1)
		closed := make(chan struct{})
		go func() {
			combiner.close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			require.Fail(t, "closed before the statement ended")
		default:
		}
		database.gate <- nil
		<-closed
		require.Equal(t, 1, (<-inFlight).grant.Slots)
		require.ErrorIs(t, (<-waiting).err, ErrArbiterClosed)
		_, err := combiner.Reserve(t.Context(), 10, 1)
		require.ErrorIs(t, err, ErrArbiterClosed)
		combiner.close()
		require.Equal(t, []int{1}, database.asked)
	})
}

// TestShareHandsOutExactlyTheGrant: whatever was asked and granted, the parts are
// what Decide would have answered one after the other.
func TestShareHandsOutExactlyTheGrant(t *testing.T) {
	t.Parallel()
	const seed = 11
	random := rand.New(rand.NewPCG(seed, seed))
	sizes := []int{math.MinInt, -1, 0, 1, 2, 3, 7, 100, math.MaxInt32, math.MaxInt}
	for trial := range 2000 {
		usage := newStatement(random.IntN(50)).usage
		if random.IntN(4) == 0 {
			usage.HeldUntil = usage.Now.Add(time.Minute)
		}
		ceiling := random.Int32N(60) - 5
		together := make([]*call, 1+random.IntN(8))
		total := 0
		for i := range together {
			together[i] = &call{ceiling: ceiling, slots: sizes[random.IntN(len(sizes))]}
			total += together[i].wanted()
		}
		parts := share(quota.Decide(usage, ceiling, total), together)
		for i, one := range together {
			want := quota.Decide(usage, ceiling, one.slots)
			require.Equal(t, want, parts[i], "seed %d, trial %d, caller %d", seed, trial, i)
			usage.Count = want.Count
		}
	}
}
