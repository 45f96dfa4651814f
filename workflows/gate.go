package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/gate"
)

// Admit asks, from a workflow of your own, whether it may emit now. Register the
// gate's activities in your worker with [RegisterGate].
//
// A granted slot is one attempt: let your emitting activity run with
// MaximumAttempts 1, and ask again before another attempt. Deferred is an
// answer; sleep until its RetryAt or do something else.
//
// It returns an error only when the question itself is wrong or the workflow
// ends; a database that cannot be asked is tried again.
func Admit(ctx workflow.Context, request gate.Request) (gate.Answer, error) {
	ctx = workflow.WithActivityOptions(ctx, activityOptions(ActivityGateAdmit))
	var answer gate.Answer
	err := workflow.ExecuteActivity(ctx, ActivityGateAdmit, request).Get(ctx, &answer)
	return answer, err
}

// Spend marks the slot granted under the request's own key as used. Call it
// before the attempt, so that dying in between wastes the slot instead of using
// it twice. Requests without a key need none.
func Spend(ctx workflow.Context, request gate.Request) error {
	ctx = workflow.WithActivityOptions(ctx, activityOptions(ActivityGateSpend))
	return workflow.ExecuteActivity(ctx, ActivityGateSpend, request).Get(ctx, nil)
}
