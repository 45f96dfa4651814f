package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/work"
)

// EmitOverrideInput names the one work of an override.
type EmitOverrideInput struct {
	Work work.Ref `json:"work"`
	// SearchAttributes are registered in this namespace.
	SearchAttributes bool `json:"search_attributes,omitempty"`
}

// EmitOverride emits a work whose deadline is closing, retried by Temporal until
// the third party accepts or rejects it.
func EmitOverride(ctx workflow.Context, input EmitOverrideInput) (Emission, error) {
	activityCtx := workflow.WithActivityOptions(ctx, activityOptions(ActivityEmitOverride))
	var output override.Output
	err := workflow.ExecuteActivity(activityCtx, ActivityEmitOverride, override.Input{
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID, Work: input.Work,
	}).Get(activityCtx, &output)
	if err != nil {
		return Emission{}, err
	}
	var emission Emission
	if output.Result != nil {
		emission.Results = append(emission.Results, *output.Result)
	}
	if output.Gone {
		emission.Gone = append(emission.Gone, input.Work.ID)
	}
	return emission, tellOutcomes(ctx, input.SearchAttributes, emission.Results)
}
