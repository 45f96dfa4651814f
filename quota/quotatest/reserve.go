package quotatest

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

var reserveRules = map[string]func(*testing.T, Factory){
	"GrantsTheFirst":                     grantsTheFirst,
	"GrantsUpToTheCeiling":               grantsUpToTheCeiling,
	"CeilingZeroOrNegativeRefusesAll":    ceilingZeroOrNegativeRefusesAll,
	"HighestCeilingHolds":                highestCeilingHolds,
	"BatchGrantsWhatIsLeft":              batchGrantsWhatIsLeft,
	"SlotsBelowOneTakeNothing":           slotsBelowOneTakeNothing,
	"CeilingMovesBothWays":               ceilingMovesBothWays,
	"AgreesWithDecide":                   agreesWithDecide,
	"ConcurrentCallersNeverExceed":       concurrentCallersNeverExceed,
	"WindowTurns":                        windowTurns,
	"CancelledCallerIsNotAnsweredWithNo": cancelledCallerIsNotAnsweredWithNo,
}

// grantsTheFirst: no row yet, the first emission of a window (A15).
func grantsTheFirst(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, 10, 1), 1, 1)
}

// grantsUpToTheCeiling: 1, 2, 3, then a refusal that is a value and takes nothing
// (A16, A17, A19, A27).
func grantsUpToTheCeiling(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	for count := 1; count <= 3; count++ {
		requireGranted(t, reserve(t, subject, 3, 1), 1, count)
	}
	for range 3 {
		requireRefused(t, reserve(t, subject, 3, 1), 0, 3)
	}
	require.Equal(t, 3, usageOf(t, subject).Count)
}

// ceilingZeroOrNegativeRefusesAll, in an empty window too (A20, A21, A22, G7).
func ceilingZeroOrNegativeRefusesAll(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	ceilings := []int32{0, -1, -1000, math.MinInt32}
	for _, ceiling := range ceilings {
		requireRefused(t, reserve(t, subject, ceiling, 1), 0, 0)
		requireRefused(t, reserve(t, subject, ceiling, math.MaxInt), 0, 0)
	}
	requireGranted(t, reserve(t, subject, 10, 2), 2, 2)
	for _, ceiling := range ceilings {
		requireRefused(t, reserve(t, subject, ceiling, 1), 0, 2)
	}
	require.Equal(t, 2, usageOf(t, subject).Count)
}

func highestCeilingHolds(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, math.MaxInt32, 5), 5, 5)
	requireRefused(t, reserve(t, subject, math.MaxInt32, math.MaxInt), math.MaxInt32-5, math.MaxInt32)
	requireRefused(t, reserve(t, subject, math.MaxInt32, 1), 0, math.MaxInt32)
}

// batchGrantsWhatIsLeft: n above what is left gets what is left and learns that
// the rest is refused.
func batchGrantsWhatIsLeft(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, 10, 7), 7, 7)
	requireRefused(t, reserve(t, subject, 10, 7), 3, 10)
	requireRefused(t, reserve(t, subject, 10, 7), 0, 10)

	_, other := begin(t, factory)
	requireRefused(t, reserve(t, other, 10, 25), 10, 10)
}

func slotsBelowOneTakeNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	for _, slots := range []int{0, -1, math.MinInt} {
		requireGranted(t, reserve(t, subject, 10, slots), 0, 0)
	}
	requireGranted(t, reserve(t, subject, 10, 10), 10, 10)
	for _, slots := range []int{0, -1, math.MinInt} {
		requireGranted(t, reserve(t, subject, 10, slots), 0, 10)
		requireGranted(t, reserve(t, subject, 0, slots), 0, 10)
	}
}

// ceilingMovesBothWays: each reservation obeys the ceiling it brings.
func ceilingMovesBothWays(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, 10, 10), 10, 10)
	requireRefused(t, reserve(t, subject, 4, 1), 0, 10)
	requireRefused(t, reserve(t, subject, 12, 5), 2, 12)
	requireRefused(t, reserve(t, subject, 11, 1), 0, 12)
	requireGranted(t, reserve(t, subject, 13, 1), 1, 13)
}

// agreesWithDecide holds the arbiter equal to the rule as a pure function, over
// random ceilings, batches and charges, without and then under a hold.
func agreesWithDecide(t *testing.T, factory Factory) {
	const seed, steps = 7, 150
	random := rand.New(rand.NewPCG(seed, seed))
	ctx, subject := begin(t, factory)
	for step := range 2 * steps {
		if step == steps {
			require.NoError(t, subject.Arbiter.Hold(ctx, usageOf(t, subject).Now.Add(time.Hour)))
		}
		if random.IntN(10) == 0 {
			charged := random.IntN(20) - 5
			require.NoError(t, subject.Arbiter.Charge(ctx, usageOf(t, subject).Window.Start, charged))
		}
		before := usageOf(t, subject)
		ceiling := int32(before.Count + random.IntN(30) - 10)
		slots := random.IntN(16) - 2
		want := quota.Decide(before, ceiling, slots)
		got := reserve(t, subject, ceiling, slots)
		want.Now = got.Now // a real clock went on
		require.Equal(t, want, got, "seed %d, step %d: ceiling %d, slots %d of %+v", seed, step, ceiling, slots, before)
	}
}

// concurrentCallersNeverExceed: random batches under one ceiling fill the window
// exactly (A05, A17, A18, G1).
func concurrentCallersNeverExceed(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	const ceiling = 500
	violations := Race(ctx, subject.Arbiter.Reserve, RaceOptions{
		Callers: 16, Rounds: 25, SlotsMax: 10, CeilingMin: ceiling, CeilingMax: ceiling, Seed: 1,
	})
	require.Empty(t, violations)
	require.Equal(t, ceiling, usageOf(t, subject).Count, "more was asked than there is")
}

// windowTurns: a full window is over when the arbiter's own clock says so, and
// not before (A13, A23).
func windowTurns(t *testing.T, factory Factory) {
	subject := factory(t, Options{Window: turning, HoldMax: quota.Day})
	full := reserve(t, subject, 1, 1)
	requireGranted(t, full, 1, 1)
	if subject.Advance != nil {
		subject.Advance(full.Window.End().Sub(full.Now) - time.Microsecond)
		requireRefused(t, reserve(t, subject, 1, 1), 0, 1)
		subject.Advance(time.Microsecond)
	}
	var next quota.Grant
	eventually(t, "the window turns", func() bool {
		next = reserve(t, subject, 1, 1)
		if next.Slots == 0 {
			requireRefused(t, next, 0, 1)
			require.Equal(t, full.Window, next.Window)
		}
		return next.Slots == 1
	})
	requireGranted(t, next, 1, 1)
	require.False(t, next.Window.Start.Before(full.Window.End()), "%s follows %s", next.Window.Start, full.Window.Start)
	require.Equal(t, quota.WindowAt(next.Now, turning), next.Window, "on the grid")
}

// cancelledCallerIsNotAnsweredWithNo: not being able to ask is an error, never a
// refusal (G8).
func cancelledCallerIsNotAnsweredWithNo(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	grant, err := subject.Arbiter.Reserve(ctx, 10, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, grant)
	grant, err = subject.Arbiter.ReserveOnce(ctx, 10, "key")
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, grant)
	_, err = subject.Arbiter.Usage(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, subject.Arbiter.SpendOnce(ctx, "key"), context.Canceled)
	require.ErrorIs(t, subject.Arbiter.Hold(ctx, usageOf(t, subject).Now.Add(time.Hour)), context.Canceled)
	require.ErrorIs(t, subject.Arbiter.Charge(ctx, usageOf(t, subject).Now, 1), context.Canceled)
}
