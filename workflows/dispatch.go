package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/dispatch"
)

// DispatchInput of one pass; what decides is read by the pass's activities.
type DispatchInput struct{}

// PassSummary is what one pass did.
type PassSummary struct {
	// Chosen works, over all lanes: urgent, exempt, and governed ones considered.
	Chosen     int `json:"chosen"`
	Granted    int `json:"granted"`
	WouldDefer int `json:"would_defer"`
	// Deferred works by reason, each once per window.
	Deferred   map[string]int `json:"deferred,omitempty"`
	Overridden int            `json:"overridden"`
	Exempt     int            `json:"exempt"`
	// Started workflows. StartsFailed could not be started; their works stay
	// admitted and a later pass starts them.
	Started      int `json:"started"`
	StartsFailed int `json:"starts_failed,omitempty"`
	// Woken back-offs, ExpiredSlots, LostAttempts and Restarted workflows are
	// what the recovery found.
	Woken        int `json:"woken,omitempty"`
	ExpiredSlots int `json:"expired_slots,omitempty"`
	LostAttempts int `json:"lost_attempts,omitempty"`
	Restarted    int `json:"restarted,omitempty"`
	Pruned       int `json:"pruned,omitempty"`
	// Problems say which step failed and why; the steps after it ran all the
	// same.
	Problems []string `json:"problems,omitempty"`
}

// DispatchWorkflow is one pass. No step stops the next: a broken quota fails the
// governed step alone, and urgent works go before anything asks the arbiter.
func DispatchWorkflow(ctx workflow.Context, _ DispatchInput) (PassSummary, error) {
	pass := pass{ctx: ctx}
	pass.recover()
	pass.startOverrides()
	pass.startExempt()
	pass.startGoverned()
	pass.prune()
	return pass.summary, pass.cancelled
}

type pass struct {
	ctx     workflow.Context
	summary PassSummary
	// cancelled is the pass's own cancellation, the only thing that ends it.
	cancelled error
}

// run executes one step and reports whether its result counts.
func (pass *pass) run(activity string, result any) bool {
	if pass.cancelled != nil {
		return false
	}
	ctx := workflow.WithActivityOptions(pass.ctx, activityOptions(activity))
	err := workflow.ExecuteActivity(ctx, activity).Get(ctx, result)
	if temporal.IsCanceledError(err) {
		pass.cancelled = err
		return false
	}
	if err != nil {
		workflow.GetLogger(pass.ctx).Error("a step of the pass failed; the others go on", "step", activity, "error", err)
		pass.problem(activity, rootMessage(err))
		return false
	}
	return true
}

func (pass *pass) problem(step, message string) {
	if message != "" {
		pass.summary.Problems = append(pass.summary.Problems, step+": "+message)
	}
}

func (pass *pass) count(step string, starts dispatch.Starts, problem string) {
	pass.summary.Started += starts.Started
	pass.summary.StartsFailed += starts.Failed
	pass.problem(step, starts.Problem)
	pass.problem(step, problem)
}

func (pass *pass) recover() {
	var recovered dispatch.Recovered
	if !pass.run(ActivityRecover, &recovered) {
		return
	}
	pass.summary.Woken = recovered.Woken
	pass.summary.ExpiredSlots = recovered.ExpiredSlots
	pass.summary.LostAttempts = recovered.LostAttempts
	pass.summary.Restarted = recovered.Restarts.Started
	pass.count(ActivityRecover, recovered.Restarts, recovered.Problem)
}

func (pass *pass) startOverrides() {
	var chosen dispatch.Chosen
	if pass.run(ActivityStartOverrides, &chosen) {
		pass.summary.Overridden = chosen.Works
		pass.summary.Chosen += chosen.Works
		pass.count(ActivityStartOverrides, chosen.Starts, chosen.Problem)
	}
}

func (pass *pass) startExempt() {
	var chosen dispatch.Chosen
	if pass.run(ActivityStartExempt, &chosen) {
		pass.summary.Exempt = chosen.Works
		pass.summary.Chosen += chosen.Works
		pass.count(ActivityStartExempt, chosen.Starts, chosen.Problem)
	}
}

func (pass *pass) startGoverned() {
	var admission dispatch.Admission
	if !pass.run(ActivityStartGoverned, &admission) {
		return
	}
	pass.summary.Granted = admission.Granted
	pass.summary.WouldDefer = admission.WouldDefer
	pass.summary.Deferred = admission.Deferred
	pass.summary.Chosen += admission.Chosen
	pass.count(ActivityStartGoverned, admission.Starts, admission.Problem)
}

func (pass *pass) prune() {
	var pruned int
	if pass.run(ActivityPrune, &pruned) {
		pass.summary.Pruned = pruned
	}
}

// rootMessage is the innermost cause, which says more than the layers Temporal
// puts around it.
func rootMessage(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
