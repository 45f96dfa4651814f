package workflows_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/adjourn/adjourn/work"
	"github.com/adjourn/adjourn/workflows"
)

// cancelDuring runs a workflow and cancels it while the named activity runs.
func cancelDuring(t *testing.T, activity, workflow string, input any) (*script, error) {
	t.Helper()
	script := newScript(nil)
	environment := newEnvironment(script)
	over := make(chan struct{})
	script.meanwhile = func(_ context.Context, name string) {
		if name == activity {
			environment.CancelWorkflow()
			<-over // the activity must not end first
		}
	}
	environment.ExecuteWorkflow(workflow, input)
	close(over)
	require.True(t, environment.IsWorkflowCompleted())
	return script, environment.GetWorkflowError()
}

// TestACancelledPassStops: cancellation is the one thing that ends a pass before
// its last step, and it is no problem to note.
func TestACancelledPassStops(t *testing.T) {
	t.Parallel()
	script, err := cancelDuring(t, workflows.ActivityStartOverrides, workflows.NameDispatch, workflows.DispatchInput{})
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	require.NotContains(t, script.called(), workflows.ActivityStartGoverned)
}

// TestACancelledEmissionIsNotADeferral: nobody refused it.
func TestACancelledEmissionIsNotADeferral(t *testing.T) {
	t.Parallel()
	direct := workflows.EmitGovernedInput{Works: []work.Ref{first}}
	_, err := cancelDuring(t, workflows.ActivityAdmitWorks, workflows.NameEmitGoverned, direct)
	require.True(t, temporal.IsCanceledError(err), "%v", err)
}
