package postgres

import (
	"sync/atomic"
	"time"

	"github.com/adjourn/adjourn/quota"
)

// knownFull remembers how full the present window was, so that a refusal costs no
// round trip until the window turns or a caller brings a higher ceiling.
//
// That is safe because a window's count never falls: whoever was refused under a
// ceiling would be refused again. A hold is not remembered, for its end has nothing
// to do with the window's; one that another process sets while the window is known
// to be full is learned of when the window turns. Should an operator lower a count
// by hand, processes that remember it go on refusing until the turn.
//
// The zero value remembers nothing. Safe for concurrent use.
type knownFull struct {
	latest atomic.Pointer[lastKnown]
}

// lastKnown is what the database said, and when it was asked.
type lastKnown struct {
	usage quota.Usage
	asked instant
}

// instant is a reading of this process's two clocks. Neither is trusted alone to
// say how much time has passed: the wall clock may be set back, and the monotonic
// one stands still while the machine sleeps.
type instant struct {
	wall    time.Time     // without a monotonic reading
	elapsed time.Duration // since any fixed moment
}

// since is how long ago the earlier reading was; in doubt longer.
func (now instant) since(earlier instant) time.Duration {
	return max(now.elapsed-earlier.elapsed, now.wall.Sub(earlier.wall))
}

// learn keeps what an answer says about the window. Asked is from before the
// question was sent: counted from there the window is over too early by the time
// the question took, and never too late.
func (known *knownFull) learn(asked instant, grant quota.Grant) {
	switch {
	case grant.Reason == quota.ReasonThirdPartyLimit:
		known.forget()
	case grant.Slots > 0 || grant.Refused(): // else nothing was asked, and a hold would not show
		known.latest.Store(&lastKnown{
			usage: quota.Usage{Window: grant.Window, Now: grant.Now, Count: grant.Count},
			asked: asked,
		})
	}
}

// forget is for a change that this process makes itself, so that its own answers
// never lag behind it.
func (known *knownFull) forget() { known.latest.Store(nil) }

// refuse answers a call that the database would refuse; false means that it must
// be asked. The grant's clock is the database's as far as this process can tell.
func (known *knownFull) refuse(now instant, ceiling int32, slots int) (quota.Grant, bool) {
	last := known.latest.Load()
	if last == nil {
		return quota.Grant{}, false
	}
	usage := last.usage
	usage.Now = usage.Now.Add(now.since(last.asked))
	if usage.Remaining(ceiling) > 0 || !usage.Window.Contains(usage.Now) {
		return quota.Grant{}, false
	}
	return quota.Decide(usage, ceiling, slots), true
}
