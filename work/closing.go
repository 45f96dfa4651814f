package work

import "time"

// Closing is the override rule: a work whose deadline is at most margin away, or
// past, goes although the quota says no. A zero deadline never closes. A
// negative margin counts as zero.
func Closing(deadline, now time.Time, margin time.Duration) bool {
	return !deadline.IsZero() && !now.Add(max(0, margin)).Before(deadline)
}

// ClosesAt is the instant from which [Closing] is true; zero without deadline.
func ClosesAt(deadline time.Time, margin time.Duration) time.Time {
	if deadline.IsZero() {
		return time.Time{}
	}
	return deadline.Add(-max(0, margin))
}
