package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// catchUp is how late a pass may still start after Temporal was away. One pass
// picks up everything that is waiting, so older ones would find nothing.
const catchUp = time.Minute

// ScheduleOptions of the passes.
type ScheduleOptions struct {
	Queues Queues
	// Interval between passes. Required.
	Interval time.Duration
	// Jitter spreads each start over this span, so that platforms sharing a
	// cluster do not meet at the hour; zero for none.
	Jitter time.Duration
}

// ScheduleChange is what [EnsureSchedule] did.
type ScheduleChange string

// The changes.
const (
	ScheduleCreated   ScheduleChange = "created"
	ScheduleUpdated   ScheduleChange = "updated"
	ScheduleUnchanged ScheduleChange = "unchanged"
)

// EnsureSchedule makes the schedule of the passes as the options say, whether it
// exists or not. A paused schedule stays paused. Passes never overlap: one that
// would is skipped.
func EnsureSchedule(ctx context.Context, temporalClient client.Client, options ScheduleOptions) (ScheduleChange, error) {
	if options.Interval < time.Second {
		return "", fmt.Errorf("interval %s between passes: accepted are at least 1s", options.Interval)
	}
	id := options.Queues.ScheduleID()
	schedules := temporalClient.ScheduleClient()
	_, err := schedules.Create(ctx, client.ScheduleOptions{
		ID: id, Spec: scheduleSpec(options), Action: scheduleAction(options),
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUp,
	})
	if err == nil {
		return ScheduleCreated, nil
	}
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return "", fmt.Errorf("create schedule %s: %w", id, err)
	}
	change := ScheduleUnchanged
	err = schedules.GetHandle(ctx, id).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(input client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			if isAsWanted(input.Description.Schedule, options) {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			change = ScheduleUpdated
			return &client.ScheduleUpdate{Schedule: wantedSchedule(input.Description.Schedule, options)}, nil
		},
	})
	if err != nil {
		return "", fmt.Errorf("update schedule %s: %w", id, err)
	}
	return change, nil
}

func scheduleSpec(options ScheduleOptions) client.ScheduleSpec {
	return client.ScheduleSpec{
		Intervals: []client.ScheduleIntervalSpec{{Every: options.Interval}},
		Jitter:    options.Jitter,
	}
}

func scheduleAction(options ScheduleOptions) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID:                  options.Queues.PassWorkflowID(),
		Workflow:            NameDispatch,
		Args:                []any{DispatchInput{}},
		TaskQueue:           options.Queues.Dispatch,
		WorkflowRunTimeout:  passTimeout,
		WorkflowTaskTimeout: workflowTaskTime,
	}
}

// wantedSchedule keeps the state of the present one: whether it is paused, and
// why.
func wantedSchedule(present client.Schedule, options ScheduleOptions) *client.Schedule {
	spec := scheduleSpec(options)
	return &client.Schedule{
		Spec: &spec, Action: scheduleAction(options), State: present.State,
		Policy: &client.SchedulePolicies{Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUp},
	}
}

func isAsWanted(present client.Schedule, options ScheduleOptions) bool {
	action, isWorkflow := present.Action.(*client.ScheduleWorkflowAction)
	if !isWorkflow || present.Spec == nil || present.Policy == nil {
		return false
	}
	wanted := scheduleAction(options)
	return len(present.Spec.Intervals) == 1 &&
		present.Spec.Intervals[0] == client.ScheduleIntervalSpec{Every: options.Interval} &&
		present.Spec.Jitter == options.Jitter &&
		present.Policy.Overlap == enums.SCHEDULE_OVERLAP_POLICY_SKIP &&
		present.Policy.CatchupWindow == catchUp &&
		action.ID == wanted.ID && action.Workflow == wanted.Workflow &&
		action.TaskQueue == wanted.TaskQueue &&
		action.WorkflowRunTimeout == wanted.WorkflowRunTimeout
}
