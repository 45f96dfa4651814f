package quota_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// noon of a day whose window is an hour.
var (
	noon      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	noonsHour = quota.WindowAt(noon, time.Hour)
)

// TestCadenceSpacesInstants: N per second is one each 1/N s (A61).
func TestCadenceSpacesInstants(t *testing.T) {
	t.Parallel()
	const second = time.Second
	now, long := noon.Add(30*time.Minute), noon
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
		{"nothing asked", 1, now.Add(5 * second), 0, []time.Duration{}, 5 * second},
		{"fewer than nothing asked", 1, now.Add(5 * second), -3, []time.Duration{}, 5 * second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rate := quota.CadenceRate{PerSecond: 1, Burst: c.burst}
			distances, after := rate.Book(now, c.next, noonsHour.End(), c.n)
			require.Equal(t, c.distances, distances)
			require.Equal(t, c.after, after.Sub(now))
		})
	}
}

// TestCadencePromisesNothingBeyondTheWindow: what lies beyond its end cannot be
// used, so the next window begins with everything free, however much was asked.
func TestCadencePromisesNothingBeyondTheWindow(t *testing.T) {
	t.Parallel()
	rate, end := quota.CadenceRate{PerSecond: 1, Burst: 1}, noonsHour.End()
	now := end.Add(-2500 * time.Millisecond)
	distances, after := rate.Book(now, noon, end, 5)
	require.Equal(t, []time.Duration{
		0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second,
	}, distances)
	require.Equal(t, end, after)
	for range 100 {
		distances, after = rate.Book(now, after, end, 1000)
		require.Equal(t, 2500*time.Millisecond, distances[0], "the first instant that cannot be used")
		require.Equal(t, end, after)
	}
	distances, after = rate.Book(end, after, end.Add(time.Hour), 1)
	require.Equal(t, []time.Duration{0}, distances)
	require.Equal(t, end.Add(time.Second), after)

	_, healed := rate.Book(now, now.Add(1000*quota.Day), end, 1)
	require.Equal(t, end, healed, "nonsense in the register is over with the window")
}

// TestCadenceOffSpacesNothing: the budget of a window may be spent in one burst
// (A62, A63).
func TestCadenceOffSpacesNothing(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{0, -1, math.Inf(-1), math.NaN()} {
		rate := quota.CadenceRate{PerSecond: perSecond, Burst: 5}
		require.True(t, rate.Off())
		require.Zero(t, rate.Interval())
		require.Zero(t, rate.Span(100))
		require.Zero(t, rate.Slack())
		distances, after := rate.Book(noon, noon.Add(time.Minute), noonsHour.End(), 3)
		require.Equal(t, []time.Duration{0, 0, 0}, distances)
		require.Equal(t, noon.Add(time.Minute), after)
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
// for fewer promise the same instants.
func TestCadenceBooksOneScheduleWhateverTheBatches(t *testing.T) {
	t.Parallel()
	rate, end := quota.CadenceRate{PerSecond: 7, Burst: 4}, noonsHour.End()
	whole, endOfWhole := rate.Book(noon, time.Time{}, end, 100)
	var parts []time.Duration
	var next time.Time
	for len(parts) < len(whole) {
		var distances []time.Duration
		distances, next = rate.Book(noon, next, end, min(len(parts)+1, len(whole)-len(parts)))
		parts = append(parts, distances...)
	}
	require.Equal(t, whole, parts)
	require.Equal(t, endOfWhole, next)
}
