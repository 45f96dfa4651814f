// Package gate answers whether an activity of someone else's workflow may emit
// now: the quota without Adjourn's own works. Register it in your own worker and
// ask through workflows.Admit.
//
// Who is authoritative. Closing deadlines are decided first, by the database's
// clock and without naming a table of the quota; only what is left asks the
// arbiter. When that clock cannot be asked, this machine's decides what is
// closing: in doubt the obligation wins.
package gate

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// Clock is the database's.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// Counter takes note of an emission outside the arbiter. It must neither block
// nor fail.
type Counter interface {
	Count(emission work.Emission)
}

// Activities of the gate. Safe for concurrent use.
type Activities struct {
	Clock   Clock
	Arbiter quota.Arbiter
	// Policy in force. It must be bounded, and answer from memory when it can:
	// an error defers nothing and emits nothing, it is retried.
	Policy func(ctx context.Context) (quota.Policy, error)
	// Counter of what passes outside the arbiter; nil counts nothing, and the
	// window then shows more room than there is.
	Counter Counter
	// Margin before a deadline within which it is closing.
	Margin time.Duration
	// Timeout of each question to the database; default 3 s.
	Timeout time.Duration
}

// Request asks for one emission.
type Request struct {
	// Flow is the type of what is emitted. Required.
	Flow string `json:"flow"`
	// Deadline that an emission must not miss; zero for none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Key under which the slot is held. Empty: the slot belongs to this question
	// alone, and every question is one attempt. With a key of your own, asking
	// again in the same window repeats the same slot until [Activities.Spend];
	// see [quota.ValidateKey] for what is accepted.
	Key string `json:"key,omitempty"`
}

// Verdict is the gate's word.
type Verdict string

// The verdicts.
const (
	// Granted: emit now, once.
	Granted Verdict = "granted"
	// Deferred: do not emit; ask again at RetryAt.
	Deferred Verdict = "deferred"
	// Override: the deadline is closing; emit now whatever the quota says.
	Override Verdict = "override"
)

// Answer is the gate's answer to one request. A refusal is an answer.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	// Lane the emission travels in; empty when deferred.
	Lane work.Lane `json:"lane,omitempty"`
	// WouldDefer: the flow is observed and enforcing would have deferred it.
	WouldDefer bool `json:"would_defer,omitempty"`
	// Reason of a deferral, or of what would have been one.
	Reason quota.Reason `json:"reason,omitempty"`
	// RetryAt is the earliest instant worth asking again; zero when not known.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// SlotEnd is when the slot dies with its window: emit before it. Zero
	// without a slot.
	SlotEnd time.Time `json:"slot_end,omitzero"`
}

// Admit decides one request.
func (gate *Activities) Admit(ctx context.Context, request Request) (Answer, error) {
	key, err := checkRequest(ctx, request)
	if err != nil {
		return Answer{}, err
	}
	now := gate.now(ctx)
	if work.Closing(request.Deadline, now, gate.Margin) {
		gate.count(request.Flow, work.Override, now)
		return Answer{Verdict: Override, Lane: work.Override}, nil
	}
	policy, err := gate.Policy(ctx)
	if err != nil {
		return Answer{}, failure.Register(err)
	}
	treatment := policy.Treatment(request.Flow)
	if treatment == quota.Exempt {
		gate.count(request.Flow, work.Exempt, now)
		return Answer{Verdict: Granted, Lane: work.Exempt}, nil
	}
	return gate.ask(ctx, policy.Ceiling, treatment, key), nil
}

// Spend marks the slot held under a key as used. Call it before the attempt: the
// next question under the key then takes another slot.
func (gate *Activities) Spend(ctx context.Context, request Request) error {
	if err := quota.ValidateKey(request.Key); err != nil {
		return failure.Input(err.Error())
	}
	ctx, cancel := gate.bounded(ctx)
	defer cancel()
	if err := gate.Arbiter.SpendOnce(ctx, request.Key); err != nil {
		return failure.Register(err)
	}
	return nil
}

func checkRequest(ctx context.Context, request Request) (key string, err error) {
	if request.Flow == "" {
		return "", failure.Input("flow: empty, accepted is the type of what is emitted")
	}
	if key = request.Key; key == "" {
		// Stable over retries of this very question, unique among all others.
		info := activity.GetInfo(ctx)
		key = fmt.Sprintf("gate/%s/%s", info.WorkflowExecution.RunID, info.ActivityID)
	}
	if err := quota.ValidateKey(key); err != nil {
		return "", failure.Input(err.Error())
	}
	return key, nil
}

func (gate *Activities) now(ctx context.Context) time.Time {
	asking, cancel := gate.bounded(ctx)
	defer cancel()
	now, err := gate.Clock.Now(asking)
	if err != nil {
		activity.GetLogger(ctx).Warn("the database's clock could not be asked: this machine's decides what is closing",
			"error", err)
		return time.Now()
	}
	return now
}

// ask the arbiter. In error, enforced flows wait and observed ones go (G8).
func (gate *Activities) ask(ctx context.Context, ceiling int32, treatment quota.Treatment, key string) Answer {
	asking, cancel := gate.bounded(ctx)
	defer cancel()
	grant, err := gate.Arbiter.ReserveOnce(asking, ceiling, key)
	if err != nil {
		activity.GetLogger(ctx).Error("the arbiter could not be asked", "treatment", treatment, "error", err)
		grant = quota.Grant{Reason: quota.ReasonArbiterUnavailable}
	}
	if !grant.Refused() {
		return Answer{Verdict: Granted, Lane: work.Governed, SlotEnd: grant.Window.End()}
	}
	// The third party's own word binds observed flows too.
	if treatment == quota.Enforce || grant.Reason == quota.ReasonThirdPartyLimit {
		return Answer{Verdict: Deferred, Reason: grant.Reason, RetryAt: grant.RetryAt}
	}
	if err == nil {
		gate.charge(ctx, grant)
	}
	return Answer{Verdict: Granted, Lane: work.Governed, WouldDefer: true, Reason: grant.Reason}
}

// charge counts an observed emission beyond the ceiling; a fault of counting
// never holds it back.
func (gate *Activities) charge(ctx context.Context, grant quota.Grant) {
	charging, cancel := gate.bounded(ctx)
	defer cancel()
	if err := gate.Arbiter.Charge(charging, grant.Window.Start, 1); err != nil {
		activity.GetLogger(ctx).Warn("an observed emission could not be counted", "error", err)
	}
}

func (gate *Activities) count(flow string, lane work.Lane, at time.Time) {
	if gate.Counter != nil {
		gate.Counter.Count(work.Emission{Flow: flow, Lane: lane, At: at})
	}
}

func (gate *Activities) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := gate.Timeout
	if timeout <= 0 {
		timeout = 3 * time.Second
	}
	return context.WithTimeout(ctx, timeout)
}
