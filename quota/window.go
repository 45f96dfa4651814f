package quota

import (
	"fmt"
	"time"
)

// Window is one cell of the fixed UTC grid: the half-open span
// [Start, Start+Length).
type Window struct {
	Start  time.Time
	Length time.Duration
}

// End is the first instant after the window.
func (window Window) End() time.Time { return window.Start.Add(window.Length) }

// Contains tells whether instant lies in the window.
func (window Window) Contains(instant time.Time) bool {
	return !instant.Before(window.Start) && instant.Before(window.End())
}

// OpenFor tells whether, at now, at least guard is left before the window ends,
// so that an attempt may still begin in it.
func (window Window) OpenFor(now time.Time, guard time.Duration) bool {
	return window.Contains(now) && !now.Add(guard).After(window.End())
}

// Day is what a window's length must divide, so that the grid is the same on
// every day.
const Day = 24 * time.Hour

// WindowAt floors instant to its window of the given length.
//
// It is the Go twin of the SQL function adjourn.window_floor, for simulations
// and fakes; a running platform asks the database (G12), and a test holds the
// two equal. Days are counted from the Unix epoch, so neither a session's time
// zone nor daylight saving moves the grid. It panics when length does not divide
// 24 hours: [ValidateLength] is the check for input.
func WindowAt(instant time.Time, length time.Duration) Window {
	if err := ValidateLength(length); err != nil {
		panic(err)
	}
	micros, step := instant.UnixMicro(), length.Microseconds()
	past := micros % step
	if past < 0 {
		past += step
	}
	return Window{Start: time.UnixMicro(micros - past).UTC(), Length: length}
}

// ValidateLength refuses a length that is not a whole, positive number of
// seconds dividing 24 hours.
func ValidateLength(length time.Duration) error {
	if length < time.Second || length%time.Second != 0 || Day%length != 0 {
		return fmt.Errorf("window length %s: accepted are whole seconds that divide 24h, such as 1h, 15m or 20s", length)
	}
	return nil
}
