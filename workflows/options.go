package workflows

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/work"
)

// AttemptTimeoutMax is the longest time-out of one call to the third party that
// the activities' time-outs below leave room for.
const AttemptTimeoutMax = 5 * time.Minute

const (
	// heartbeatTimeout is how soon Temporal takes a silent worker for dead.
	heartbeatTimeout = 30 * time.Second
	// longestWindow bounds a governed activity: it may wait for the cadence as
	// long as its slots' window lasts, and no window is longer than a day.
	longestWindow = 24 * time.Hour
	// carriageTimeout ends a governed workflow that outlived any window; its
	// works are then pending again.
	carriageTimeout = longestWindow + 2*time.Hour
	// unsentTriesMax and the pauses bound how often a governed workflow tries
	// works of which nothing was sent; the slot's window ends it sooner.
	unsentTriesMax   = 12
	unsentPause      = time.Second
	unsentPauseMax   = 5 * time.Minute
	passTimeout      = 15 * time.Minute
	workflowTaskTime = 10 * time.Second
)

// activityOptions is the table of every activity's time-outs and retries.
func activityOptions(name string) workflow.ActivityOptions {
	switch name {
	case ActivityRecover, ActivityStartExempt, ActivityStartGoverned:
		// The next pass is the retry: it must not wait for this one's.
		return row(2*time.Minute, 2*time.Minute, retries(1, time.Second, time.Second))
	case ActivityStartOverrides:
		return row(2*time.Minute, 5*time.Minute, retries(3, time.Second, 5*time.Second))
	case ActivityPrune:
		return row(time.Minute, time.Minute, retries(1, time.Second, time.Second))
	case ActivityAdmitWorks:
		return row(30*time.Second, 2*time.Minute, retries(5, time.Second, 15*time.Second))
	case ActivityEmitGoverned:
		return row(longestWindow+2*AttemptTimeoutMax, carriageTimeout, retries(0, time.Second, 30*time.Second))
	case ActivityEmitOverride, ActivityEmitExempt:
		return row(2*AttemptTimeoutMax, 0, retries(0, time.Second, time.Minute))
	case ActivityGateAdmit, ActivityGateSpend:
		options := row(30*time.Second, 0, retries(0, time.Second, 30*time.Second))
		options.HeartbeatTimeout = 0 // a few short questions
		return options
	}
	panic("workflows: no options for activity " + name)
}

func row(startToClose, scheduleToClose time.Duration, policy *temporal.RetryPolicy) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    startToClose,
		ScheduleToCloseTimeout: scheduleToClose, // zero: as long as the workflow
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            policy,
	}
}

// retries doubles the wait from first to longest; zero attempts is without limit.
func retries(attempts int32, first, longest time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: longest, MaximumAttempts: attempts,
	}
}

// startOptions are those of the workflow that carries a lane's works.
func startOptions(carriage work.Carriage, queue string) client.StartWorkflowOptions {
	options := client.StartWorkflowOptions{
		ID: carriage.WorkflowID, TaskQueue: queue, WorkflowTaskTimeout: workflowTaskTime,
		// A work that comes back in the same window may be carried again.
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		// Starting what runs is fine, but it must be told apart to be counted;
		// USE_EXISTING would answer both alike.
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if carriage.Lane == work.Governed {
		options.WorkflowRunTimeout = carriageTimeout
	}
	return options
}
