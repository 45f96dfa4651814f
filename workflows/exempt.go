package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/work"
)

// EmitExemptInput names works of one flow that is never throttled.
type EmitExemptInput struct {
	Works []work.Ref `json:"works"`
	// SearchAttributes are registered in this namespace.
	SearchAttributes bool `json:"search_attributes,omitempty"`
}

// EmitExempt emits works of a flow that is never throttled; whether they are
// retried is the flow's setting, which the activity reads.
func EmitExempt(ctx workflow.Context, input EmitExemptInput) (Emission, error) {
	activityCtx := workflow.WithActivityOptions(ctx, activityOptions(ActivityEmitExempt))
	var output exempt.Output
	err := workflow.ExecuteActivity(activityCtx, ActivityEmitExempt, exempt.Input{
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID, Works: input.Works,
	}).Get(activityCtx, &output)
	if err != nil {
		return Emission{}, err
	}
	emission := sorted(Emission{Results: output.Results, Gone: output.Gone})
	return emission, tellOutcomes(ctx, input.SearchAttributes, emission.Results)
}
