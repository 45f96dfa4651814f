package quota

import (
	"context"
	"time"
)

// Reason says why a work was deferred.
type Reason string

// The reasons of a deferral.
const (
	// ReasonQuotaFull: the window holds as many emissions as the ceiling allows.
	ReasonQuotaFull Reason = "quota_full"
	// ReasonThirdPartyLimit: the third party asked to wait.
	ReasonThirdPartyLimit Reason = "third_party_limit"
	// ReasonArbiterUnavailable: the arbiter could not be asked (G8).
	ReasonArbiterUnavailable Reason = "arbiter_unavailable"
	// ReasonSlotExpired: the window ended before the attempt could begin.
	ReasonSlotExpired Reason = "slot_expired"
	// ReasonCadence: the cadence's next free instant lies outside the window.
	ReasonCadence Reason = "cadence"
)

// Reasons lists every reason, in the order of their declaration, so that each
// label value exists from the start.
func Reasons() []Reason {
	return []Reason{
		ReasonQuotaFull, ReasonThirdPartyLimit, ReasonArbiterUnavailable,
		ReasonSlotExpired, ReasonCadence,
	}
}

// Grant is the arbiter's answer. Slots below what was asked is a refusal of the
// rest: an ordinary value, not an error (G3).
type Grant struct {
	// Window the answer is about, by the arbiter's clock.
	Window Window
	// Now is the arbiter's clock when it answered.
	Now time.Time
	// Slots granted; from 0 to what was asked.
	Slots int
	// Count is how many slots of the window are taken after this answer. A refusal
	// may tell an earlier count, at or above the ceiling.
	Count int
	// Reason of the refusal; empty when everything asked was granted.
	Reason Reason
	// RetryAt is the earliest instant at which a refused caller could be
	// granted; zero when nothing was refused. With a ceiling below 1 it is the
	// next window all the same, since the ceiling may have changed by then.
	RetryAt time.Time
}

// Refused tells whether the arbiter granted less than was asked.
func (grant Grant) Refused() bool { return grant.Reason != "" }

// Arbiter decides, atomically for all processes that share it, how many of the
// asked slots the current window still holds. Implementations are safe for
// concurrent use and decide by their own clock, never by the caller's.
//
// An error means that the arbiter could not be asked. It never means "no". A
// caller must treat slots of a failed call as taken.
type Arbiter interface {
	// Reserve takes up to slots slots under the ceiling and keeps them: there is
	// no way to give one back. Slots below 1 ask for nothing and take nothing.
	Reserve(ctx context.Context, ceiling int32, slots int) (Grant, error)
	// ReserveOnce takes one slot for key. Asked again for the same key in the
	// same window it repeats its grant without taking another slot, until
	// SpendOnce says that the slot was used. A hold and a ceiling below 1 refuse
	// all the same; the slot stays held. [ValidateKey] says which keys are
	// accepted; another is an error.
	ReserveOnce(ctx context.Context, ceiling int32, key string) (Grant, error)
	// SpendOnce marks the slot held under key as used, so that the next
	// ReserveOnce for the key takes a new one. Call it before the attempt: dying
	// in between then wastes the slot instead of using it twice. Unknown keys are
	// not an error.
	SpendOnce(ctx context.Context, key string) error
	// Charge counts emissions that left in the window starting at windowStart
	// without a slot: observed ones beyond the ceiling. It may push the count
	// past any ceiling; fewer than one emission change nothing. WindowStart is
	// floored to the grid.
	Charge(ctx context.Context, windowStart time.Time, emissions int) error
	// Hold refuses every reservation until the given instant; an earlier instant
	// than the present hold's changes nothing. Implementations clamp it to their
	// own bound from now.
	Hold(ctx context.Context, until time.Time) error
	// Usage reads the current window without taking anything.
	Usage(ctx context.Context) (Usage, error)
}

// Usage is what the current window holds.
type Usage struct {
	Window Window
	// Now is the arbiter's clock.
	Now time.Time
	// Count of slots taken; it may exceed the ceiling through observed,
	// overridden and exempt emissions.
	Count int
	// HeldUntil is when the third party's hold ends; zero without a hold in
	// force.
	HeldUntil time.Time
}

// Held tells whether the third party's hold is in force.
func (usage Usage) Held() bool { return usage.HeldUntil.After(usage.Now) }

// Remaining slots under ceiling; never negative, and never more than the ceiling
// whatever the count says.
func (usage Usage) Remaining(ceiling int32) int {
	// The guard against a ceiling below 1 is the outer bound: without it a ceiling
	// of 0 or less would leave something other than nothing.
	return max(0, int(ceiling)-usage.taken())
}

// taken reads a count below zero, which only a damaged register can hold, as
// nothing taken rather than as extra room.
func (usage Usage) taken() int { return max(0, usage.Count) }

// Decide applies the rule of one reservation to what a window holds: it is the
// whole decision of the arbiter as a pure function, shared by fakes and
// simulations and held equal to the SQL statement by the conformance suite.
func Decide(usage Usage, ceiling int32, slots int) Grant {
	granted := 0
	if !usage.Held() {
		granted = min(max(0, slots), usage.Remaining(ceiling))
	}
	usage.Count = usage.taken() + granted
	return Answer(usage, ceiling, slots, granted)
}

// Answer words a decision already taken: granted slots of those asked, with the
// window as it stands after it. Asking for fewer than one slot is never refused,
// because nothing was asked.
func Answer(after Usage, ceiling int32, asked, granted int) Grant {
	grant := Grant{Window: after.Window, Now: after.Now, Slots: granted, Count: after.Count}
	if granted >= asked {
		return grant
	}
	grant.Reason, grant.RetryAt = ReasonQuotaFull, after.Window.End()
	if after.Held() {
		grant.Reason = ReasonThirdPartyLimit
		// In a full window the end of the hold alone gives no room.
		if after.Remaining(ceiling) > 0 || after.HeldUntil.After(grant.RetryAt) {
			grant.RetryAt = after.HeldUntil
		}
	}
	return grant
}
