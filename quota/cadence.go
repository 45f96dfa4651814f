package quota

import (
	"context"
	"math"
	"time"
)

// Cadence smooths instants inside a window: n attempts ask once and get their n
// start instants. It is off unless the operator sets a rate, and only here are
// emissions spread: the budget of a window may be spent in one burst.
type Cadence interface {
	// Schedule promises n consecutive start instants and returns each one's
	// distance from the schedule's clock, in ascending order, zero for now.
	// Instants beyond the end of the present window are told but not kept:
	// nobody can use them, and keeping them would eat into the next window. In
	// error the caller paces itself at the same rate.
	Schedule(ctx context.Context, n int) ([]time.Duration, error)
}

// CadenceRate is the operator's setting of the cadence. Its zero value is off.
type CadenceRate struct {
	// PerSecond attempts; zero or less switches the cadence off. Rates beyond one
	// per microsecond and below one per day are taken as these.
	PerSecond float64
	// Burst is how many attempts may start at once after a quiet time; below 1
	// is taken as 1. A quiet time earns at most one day's attempts.
	Burst int
}

// Off tells whether no cadence is kept.
func (rate CadenceRate) Off() bool { return rate.PerSecond <= 0 || math.IsNaN(rate.PerSecond) }

// Interval between two attempts at the rate; zero when off. It is rounded up to
// a whole microsecond, the grain of the database's clock, so that rounding never
// makes the cadence faster than its rate.
func (rate CadenceRate) Interval() time.Duration {
	if rate.Off() {
		return 0
	}
	micros := math.Ceil(float64(time.Second/time.Microsecond) / rate.PerSecond)
	micros = min(max(1, micros), float64(Day/time.Microsecond))
	return time.Duration(micros) * time.Microsecond
}

// Span of n attempts at the rate: n intervals, at most a day, which reaches past
// the end of any window.
func (rate CadenceRate) Span(n int) time.Duration {
	interval := rate.Interval()
	if n < 1 || interval == 0 {
		return 0
	}
	if time.Duration(n) > Day/interval {
		return Day
	}
	return time.Duration(n) * interval
}

// Slack is how far behind now the schedule may stand after a quiet time, which
// is what lets a burst start at once.
func (rate CadenceRate) Slack() time.Duration { return rate.Span(max(1, rate.Burst) - 1) }

// Book is the leaky bucket read as a schedule: given the first instant the
// schedule has not yet promised (next) and the end of the present window, it
// promises n instants from now on, and returns each one's distance from now with
// the new next. A burst lets the first instants lie up to Burst-1 intervals closer
// together than the rate. Instants beyond the window's end are told and not
// promised, so that they do not eat into the next window. Switched off, every
// instant is now.
//
// It is the whole rule as a pure function, shared by fakes and held equal to the
// SQL statement by the conformance suite.
func (rate CadenceRate) Book(now, next, end time.Time, n int) (distances []time.Duration, after time.Time) {
	distances = make([]time.Duration, max(0, n))
	if rate.Off() || n < 1 {
		return distances, next
	}
	first := next
	if first.After(end) {
		first = end
	}
	if earliest := now.Add(-rate.Slack()); first.Before(earliest) {
		first = earliest
	}
	rate.Spread(distances, first.Sub(now))
	if after = first.Add(rate.Span(n)); after.After(end) {
		after = end
	}
	return distances, after
}

// Spread fills in the distances of consecutive instants of which the first lies
// first from now; what lies in the past is now.
func (rate CadenceRate) Spread(distances []time.Duration, first time.Duration) {
	for i := range distances {
		distances[i] = max(0, first+rate.Span(i))
	}
}
