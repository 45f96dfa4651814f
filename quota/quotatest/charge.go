package quotatest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

var chargeRules = map[string]func(*testing.T, Factory){
	"LeavesLessRoom":           chargeLeavesLessRoom,
	"GoesBeyondTheCeiling":     chargeGoesBeyondTheCeiling,
	"CountsInTheWindowItNames": chargeCountsInTheWindowItNames,
	"BelowOneChangesNothing":   chargeBelowOneChangesNothing,
	"StopsAtTheHighestCount":   chargeStopsAtTheHighestCount,
}

var usageRules = map[string]func(*testing.T, Factory){
	"TakesNothing": usageTakesNothing,
}

func charge(t *testing.T, subject Subject, instant time.Time, emissions int) {
	t.Helper()
	require.NoError(t, subject.Arbiter.Charge(t.Context(), instant, emissions))
}

func chargeLeavesLessRoom(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	charge(t, subject, usageOf(t, subject).Window.Start, 4)
	requireRefused(t, reserve(t, subject, 10, 10), 6, 10)
}

// chargeGoesBeyondTheCeiling: 25 used of 10, remaining 0, the next is deferred.
func chargeGoesBeyondTheCeiling(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	grant := reserve(t, subject, 10, 10)
	requireGranted(t, grant, 10, 10)
	charge(t, subject, grant.Window.Start, 15)
	usage := usageOf(t, subject)
	require.Equal(t, 25, usage.Count)
	require.Zero(t, usage.Remaining(10))
	requireRefused(t, reserve(t, subject, 10, 1), 0, 25)
}

// chargeCountsInTheWindowItNames: any instant is floored to the grid, so that no
// caller can write a misaligned window (A25, A26).
func chargeCountsInTheWindowItNames(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	window := usageOf(t, subject).Window
	charge(t, subject, window.Start.Add(-time.Microsecond), 5)
	charge(t, subject, window.End(), 5)
	require.Zero(t, usageOf(t, subject).Count, "the windows beside")
	charge(t, subject, window.Start.Add(time.Hour+time.Microsecond), 2)
	charge(t, subject, window.End().Add(-time.Microsecond), 1)
	require.Equal(t, 3, usageOf(t, subject).Count)
}

func chargeBelowOneChangesNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	window := usageOf(t, subject).Window
	requireGranted(t, reserve(t, subject, 10, 5), 5, 5)
	for _, emissions := range []int{0, -1, math.MinInt} {
		charge(t, subject, window.Start, emissions)
	}
	require.Equal(t, 5, usageOf(t, subject).Count)
}

// chargeStopsAtTheHighestCount: over-counting is the direction to be wrong in,
// and an overflow would stop the counting.
func chargeStopsAtTheHighestCount(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	window := usageOf(t, subject).Window
	charge(t, subject, window.Start, 7)
	charge(t, subject, window.Start, math.MaxInt)
	charge(t, subject, window.Start, 1)
	require.Equal(t, math.MaxInt32, usageOf(t, subject).Count)
	requireRefused(t, reserve(t, subject, math.MaxInt32, 1), 0, math.MaxInt32)
}

func usageTakesNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	for range 3 {
		usage := usageOf(t, subject)
		require.Zero(t, usage.Count)
		require.Zero(t, usage.HeldUntil)
		require.Equal(t, quota.WindowAt(usage.Now, quota.Day), usage.Window)
	}
	requireGranted(t, reserve(t, subject, 10, 4), 4, 4)
	require.Equal(t, 4, usageOf(t, subject).Count)
	require.Equal(t, 6, usageOf(t, subject).Remaining(10))
}
