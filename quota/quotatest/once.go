package quotatest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

var onceRules = map[string]func(*testing.T, Factory){
	"RepeatsItsGrantUntilSpent":    repeatsItsGrantUntilSpent,
	"RepeatsInAFullWindow":         repeatsInAFullWindow,
	"RefusedKeyHoldsNothing":       refusedKeyHoldsNothing,
	"CeilingZeroOrNegativeRefuses": onceCeilingZeroOrNegativeRefuses,
	"HoldRefusesAndKeepsTheSlot":   holdRefusesAndKeepsTheSlot,
	"ConcurrentCallersTakeOne":     concurrentCallersTakeOne,
	"ConcurrentKeysNeverExceed":    concurrentKeysNeverExceed,
	"NewWindowTakesANewSlot":       newWindowTakesANewSlot,
	"KeysAreChecked":               keysAreChecked,
}

func reserveOnce(t *testing.T, subject Subject, ceiling int32, key string) quota.Grant {
	t.Helper()
	grant, err := subject.Arbiter.ReserveOnce(t.Context(), ceiling, key)
	require.NoError(t, err)
	return grant
}

// repeatsItsGrantUntilSpent: same key, same window, one slot; once spent, a new
// one.
func repeatsItsGrantUntilSpent(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	for range 3 {
		requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 1)
	}
	requireGranted(t, reserveOnce(t, subject, 10, "b"), 1, 2)
	requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 2)
	for count := 3; count <= 4; count++ {
		require.NoError(t, subject.Arbiter.SpendOnce(ctx, "a"))
		require.NoError(t, subject.Arbiter.SpendOnce(ctx, "a"), "spending twice is not an error")
		requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, count)
		requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, count)
	}
	require.NoError(t, subject.Arbiter.SpendOnce(ctx, "never reserved"))
	require.Equal(t, 4, usageOf(t, subject).Count)
}

// repeatsInAFullWindow: the slot that a key holds is its own whatever became of
// the rest, even under a ceiling that went down.
func repeatsInAFullWindow(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	requireGranted(t, reserveOnce(t, subject, 2, "a"), 1, 1)
	requireGranted(t, reserve(t, subject, 2, 1), 1, 2)
	requireRefused(t, reserveOnce(t, subject, 2, "b"), 0, 2)
	requireGranted(t, reserveOnce(t, subject, 2, "a"), 1, 2)
	requireGranted(t, reserveOnce(t, subject, 1, "a"), 1, 2)
	require.NoError(t, subject.Arbiter.SpendOnce(ctx, "a"))
	requireRefused(t, reserveOnce(t, subject, 2, "a"), 0, 2)
}

func refusedKeyHoldsNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, 1, 1), 1, 1)
	requireRefused(t, reserveOnce(t, subject, 1, "a"), 0, 1)
	requireRefused(t, reserveOnce(t, subject, 1, "a"), 0, 1)
	requireGranted(t, reserveOnce(t, subject, 2, "a"), 1, 2)
}

// onceCeilingZeroOrNegativeRefuses, in an empty window and for a key that holds a
// slot (A20, A22, G7).
func onceCeilingZeroOrNegativeRefuses(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireRefused(t, reserveOnce(t, subject, 0, "a"), 0, 0)
	requireRefused(t, reserveOnce(t, subject, -1, "a"), 0, 0)
	requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 1)
	requireRefused(t, reserveOnce(t, subject, 0, "a"), 0, 1)
	requireRefused(t, reserveOnce(t, subject, -1, "a"), 0, 1)
	requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 1)
}

func holdRefusesAndKeepsTheSlot(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 1)
	heldUntil := usageOf(t, subject).Now.Add(time.Second).Truncate(time.Microsecond)
	require.NoError(t, subject.Arbiter.Hold(ctx, heldUntil))
	requireHeld(t, reserveOnce(t, subject, 10, "a"), 1, heldUntil)
	requireHeld(t, reserveOnce(t, subject, 10, "b"), 1, heldUntil)
	until(t, subject, heldUntil)
	requireGranted(t, reserveOnce(t, subject, 10, "a"), 1, 1)
	requireGranted(t, reserveOnce(t, subject, 10, "b"), 1, 2)
}

// concurrentCallersTakeOne: repeats that arrive at the same time take one slot
// between them.
func concurrentCallersTakeOne(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	const callers = 16
	grants := make([]quota.Grant, callers)
	errs := make([]error, callers)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			grants[caller], errs[caller] = subject.Arbiter.ReserveOnce(ctx, 10, "a")
		})
	}
	group.Wait()
	for caller := range callers {
		require.NoError(t, errs[caller])
		requireGranted(t, grants[caller], 1, 1)
	}
	require.Equal(t, 1, usageOf(t, subject).Count)
}

// concurrentKeysNeverExceed: each key's first slot is a reservation like any other
// (G1).
func concurrentKeysNeverExceed(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	const ceiling = 50
	var key atomic.Int64
	violations := Race(ctx, func(ctx context.Context, ceiling int32, _ int) (quota.Grant, error) {
		return subject.Arbiter.ReserveOnce(ctx, ceiling, strconv.FormatInt(key.Add(1), 10))
	}, RaceOptions{
		Callers: 16, Rounds: 8, SlotsMax: 1, CeilingMin: ceiling, CeilingMax: ceiling, Seed: 1,
	})
	require.Empty(t, violations)
	require.Equal(t, ceiling, usageOf(t, subject).Count, "more was asked than there is")
}

// newWindowTakesANewSlot: a slot dies with its window, unspent too.
func newWindowTakesANewSlot(t *testing.T, factory Factory) {
	subject := factory(t, Options{Window: turning, HoldMax: quota.Day})
	first := reserveOnce(t, subject, 10, "a")
	requireGranted(t, first, 1, 1)
	until(t, subject, first.Window.End())
	next := reserveOnce(t, subject, 10, "a")
	requireGranted(t, next, 1, 1)
	require.False(t, next.Window.Start.Before(first.Window.End()))
}

func keysAreChecked(t *testing.T, factory Factory) {
	ctx, subject := begin(t, factory)
	for _, key := range []string{"", strings.Repeat("k", quota.KeyBytesMax+1), "a\x00b", "\xff"} {
		_, err := subject.Arbiter.ReserveOnce(ctx, 10, key)
		require.ErrorContains(t, err, quota.ValidateKey(key).Error())
	}
	require.Zero(t, usageOf(t, subject).Count)
	requireGranted(t, reserveOnce(t, subject, 10, strings.Repeat("k", quota.KeyBytesMax)), 1, 1)
}
