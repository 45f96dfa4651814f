package work

import "time"

// Backoff is exponential with full jitter: the n-th retry waits a uniformly
// random part of Base·2ⁿ⁻¹, at most Max.
type Backoff struct {
	Base time.Duration
	Max  time.Duration
}

// Delay before the next try after attempts tries, for a uniformly random
// fraction in [0, 1). Fewer than one attempt counts as one.
func (backoff Backoff) Delay(attempts int, fraction float64) time.Duration {
	ceiling := backoff.Base
	for range max(0, attempts-1) {
		if ceiling >= backoff.Max {
			break
		}
		ceiling *= 2
	}
	return time.Duration(fraction * float64(min(ceiling, backoff.Max)))
}
