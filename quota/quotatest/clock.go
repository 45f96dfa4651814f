package quotatest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is told otherwise. Safe for
// concurrent use.
type Clock struct {
	mutex sync.Mutex
	now   time.Time
}

// NewClock returns a clock standing at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is where the clock stands.
func (clock *Clock) Now() time.Time {
	clock.mutex.Lock()
	defer clock.mutex.Unlock()
	return clock.now
}

// Advance moves the clock, backwards too.
func (clock *Clock) Advance(distance time.Duration) {
	clock.mutex.Lock()
	defer clock.mutex.Unlock()
	clock.now = clock.now.Add(distance)
}
