package quota

import (
	"context"
	"time"
)

// Cadence smooths instants inside a window: n attempts ask once and get their n
// start instants. It is off unless the operator sets a rate, and only here are
// emissions spread: the budget of a window may be spent in one burst.
type Cadence interface {
	// Schedule reserves n consecutive start instants and returns each one's
	// distance from the schedule's clock, in ascending order, zero for now.
	Schedule(ctx context.Context, n int) ([]time.Duration, error)
}

// CadenceRate is the operator's setting of the cadence.
type CadenceRate struct {
	// PerSecond attempts; zero or less switches the cadence off.
	PerSecond float64
	// Burst is how many attempts may start at once after a quiet time; at
	// least 1.
	Burst int
}

// Off tells whether no cadence is kept.
func (rate CadenceRate) Off() bool { return rate.PerSecond <= 0 }

// Interval between two attempts at the rate; zero when off.
func (rate CadenceRate) Interval() time.Duration {
	if rate.Off() {
		return 0
	}
	return time.Duration(float64(time.Second) / rate.PerSecond)
}

// Book is the leaky bucket read as a schedule: given the first instant the
// schedule has not yet promised (next), it promises n instants from now on and
// returns them with the new next. A burst lets the first instants lie up to
// Burst-1 intervals closer together than the rate.
func (rate CadenceRate) Book(now, next time.Time, n int) (starts []time.Time, after time.Time) {
	interval := rate.Interval()
	if earliest := now.Add(-time.Duration(rate.Burst-1) * interval); next.Before(earliest) {
		next = earliest
	}
	for range n {
		start := next
		if start.Before(now) {
			start = now
		}
		starts = append(starts, start)
		next = next.Add(interval)
	}
	return starts, next
}
