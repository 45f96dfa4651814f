package heartbeat_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/adjourn/adjourn/activities/internal/heartbeat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs an activity that waits until enough heartbeats were seen, and returns
// the details of the last one.
func run(t *testing.T, timeout time.Duration, enough int) (seen int64) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestWorkflowEnvironment()
	beats := make(chan int64, 100)
	waits := func(ctx context.Context) error {
		beat := int64(0)
		stop := heartbeat.Start(ctx, func() any {
			beat++ // from one goroutine, the sender
			beats <- beat
			return beat
		})
		defer stop()
		for range enough {
			select {
			case <-beats:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		stop()
		stop() // again, harmlessly
		return nil
	}
	environment.RegisterActivityWithOptions(waits, activity.RegisterOptions{Name: "waits"})
	environment.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		require.NoError(t, details.Get(&seen))
	})
	environment.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: timeout,
		})
		return workflow.ExecuteActivity(ctx, "waits").Get(ctx, nil)
	})
	require.NoError(t, environment.GetWorkflowError())
	return seen
}

// TestAWaitingActivityIsHeardOf, with the progress it tells.
func TestAWaitingActivityIsHeardOf(t *testing.T) {
	t.Parallel()
	require.Positive(t, run(t, 300*time.Millisecond, 3))
}

// TestWithoutATimeoutNothingIsSent: there is nobody to tell.
func TestWithoutATimeoutNothingIsSent(t *testing.T) {
	t.Parallel()
	require.Zero(t, run(t, 0, 0))
}
