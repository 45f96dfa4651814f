package quota_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// book n instants and return their distances from now.
func book(rate quota.CadenceRate, now, next time.Time, n int) (distances []time.Duration, after time.Duration) {
	starts, following := rate.Book(now, next, n)
	for _, start := range starts {
		distances = append(distances, start.Sub(now))
	}
	return distances, following.Sub(now)
}

// TestCadenceSpacesInstants: N per second is one each 1/N s (A61).
func TestCadenceSpacesInstants(t *testing.T) {
	t.Parallel()
	const second = time.Second
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	long := now.Add(-time.Hour)
	cases := []struct {
		name      string
		burst     int
		next      time.Time
		n         int
		distances []time.Duration
		after     time.Duration
	}{
		{"after a quiet time", 1, long, 3, []time.Duration{0, second, 2 * second}, 3 * second},
		{"first ever", 1, time.Time{}, 2, []time.Duration{0, second}, 2 * second},
		{"behind others", 1, now.Add(5 * second), 2, []time.Duration{5 * second, 6 * second}, 7 * second},
		{"burst after a quiet time", 3, long, 5, []time.Duration{0, 0, 0, second, 2 * second}, 3 * second},
		{"half of the burst is used up", 3, now.Add(-second), 3, []time.Duration{0, 0, second}, 2 * second},
		{"burst used up", 3, now.Add(second), 2, []time.Duration{second, 2 * second}, 3 * second},
		{"burst of zero is one", 0, long, 2, []time.Duration{0, second}, 2 * second},
		{"negative burst is one", math.MinInt, long, 2, []time.Duration{0, second}, 2 * second},
		{"nothing asked", 1, now.Add(5 * second), 0, nil, 5 * second},
		{"fewer than nothing asked", 1, now.Add(5 * second), -3, nil, 5 * second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rate := quota.CadenceRate{PerSecond: 1, Burst: c.burst}
			distances, after := book(rate, now, c.next, c.n)
			require.Equal(t, c.distances, distances)
			require.Equal(t, c.after, after)
		})
	}
}

// TestCadenceOffSpacesNothing: the budget of a window may be spent in one burst
// (A62, A63).
func TestCadenceOffSpacesNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	for _, perSecond := range []float64{0, -1, math.Inf(-1), math.NaN()} {
		rate := quota.CadenceRate{PerSecond: perSecond, Burst: 5}
		require.True(t, rate.Off())
		require.Zero(t, rate.Interval())
		require.Zero(t, rate.Span(100))
		require.Zero(t, rate.Slack())
		distances, _ := book(rate, now, now.Add(time.Hour), 3)
		require.Equal(t, []time.Duration{0, 0, 0}, distances)
	}
}

// TestCadenceIntervalNeverFasterThanTheRate: rounding goes up, and no setting
// overflows.
func TestCadenceIntervalNeverFasterThanTheRate(t *testing.T) {
	t.Parallel()
	cases := map[float64]time.Duration{
		1:                           time.Second,
		60:                          16667 * time.Microsecond,
		3:                           333334 * time.Microsecond,
		0.1:                         10 * time.Second,
		1e6:                         time.Microsecond,
		1e9:                         time.Microsecond,
		math.Inf(1):                 time.Microsecond,
		1e-300:                      quota.Day,
		math.SmallestNonzeroFloat64: quota.Day,
	}
	for perSecond, interval := range cases {
		rate := quota.CadenceRate{PerSecond: perSecond, Burst: math.MaxInt}
		require.False(t, rate.Off())
		require.Equal(t, interval, rate.Interval(), "%v per second", perSecond)
		require.Equal(t, quota.Day, rate.Slack(), "bounded whatever the burst")
		require.Equal(t, quota.Day, rate.Span(math.MaxInt))
		require.Equal(t, interval, rate.Span(1))
		require.Zero(t, rate.Span(-1))
	}
}

// TestCadenceBooksOneScheduleWhateverTheBatches: asking for n at once and n times
// for one promise the same instants.
func TestCadenceBooksOneScheduleWhateverTheBatches(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	rate := quota.CadenceRate{PerSecond: 7, Burst: 4}
	whole, end := rate.Book(now, now.Add(-time.Hour), 100)
	var parts []time.Time
	next := now.Add(-time.Hour)
	for len(parts) < len(whole) {
		var starts []time.Time
		starts, next = rate.Book(now, next, min(len(parts)+1, len(whole)-len(parts)))
		parts = append(parts, starts...)
	}
	require.Equal(t, whole, parts)
	require.Equal(t, end, next)
}
