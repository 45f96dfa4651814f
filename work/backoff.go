package work

import "time"

// Backoff is exponential with full jitter: the n-th retry waits a uniformly
// random part of Base·2ⁿ⁻¹, at most Max.
type Backoff struct {
	Base time.Duration
	Max  time.Duration
}

// Delay before the next try after attempts tries, for a uniformly random
// fraction in [0, 1). Fewer than one attempt counts as one; a base or maximum
// below zero waits for nothing.
func (backoff Backoff) Delay(attempts int, fraction float64) time.Duration {
	longest := max(0, min(backoff.Base, backoff.Max))
	for range max(0, attempts-1) {
		if longest == 0 {
			break
		}
		if longest > backoff.Max/2 { // doubled, it could overflow
			longest = backoff.Max
			break
		}
		longest *= 2
	}
	return time.Duration(fraction * float64(longest))
}
