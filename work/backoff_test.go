package work

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const almostOne = 1 - 1.0/(1<<53)

// TestBackoffDoublesUpToItsMaximum, the wait being any part of it.
func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	backoff := Backoff{Base: time.Second, Max: 10 * time.Second}
	for attempts, longest := range map[int]time.Duration{
		-5: 1, 0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 6: 10, 1000: 10, 1_000_000: 10, math.MaxInt: 10,
	} {
		longest *= time.Second
		require.Zero(t, backoff.Delay(attempts, 0), "full jitter begins at nothing")
		require.Equal(t, longest/2, backoff.Delay(attempts, 0.5), "after %d attempts", attempts)
		require.InDelta(t, longest, backoff.Delay(attempts, almostOne), 1, "after %d attempts", attempts)
	}
}

// TestBackoffStaysInBounds for settings nobody should make.
func TestBackoffStaysInBounds(t *testing.T) {
	t.Parallel()
	lengths := []time.Duration{math.MinInt64, -time.Second, 0, 1, time.Second, 1 << 62, math.MaxInt64}
	for _, base := range lengths {
		for _, longest := range lengths {
			for _, attempts := range []int{math.MinInt, 1, 2, 62, 63, 64, 1_000_000, math.MaxInt} {
				for _, fraction := range []float64{0, 0.5, almostOne} {
					delay := Backoff{Base: base, Max: longest}.Delay(attempts, fraction)
					require.GreaterOrEqual(t, delay, time.Duration(0), "%d %d %d %g", base, longest, attempts, fraction)
					require.LessOrEqual(t, delay, max(0, longest), "%d %d %d %g", base, longest, attempts, fraction)
				}
			}
		}
	}
}
