package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/work"
	"github.com/adjourn/adjourn/workflows"
)

// TestOnAServer runs what only a real Temporal server can tell, on one of them.
func TestOnAServer(t *testing.T) {
	t.Parallel()
	temporalClient := startTemporal(t)
	t.Run("starter", func(t *testing.T) { testStarter(t, temporalClient) })
	t.Run("starter refuses", func(t *testing.T) { testStarterRefuses(t, temporalClient) })
	t.Run("restart", func(t *testing.T) { testRestart(t, temporalClient) })
	t.Run("schedule", func(t *testing.T) { testSchedule(t, temporalClient) })
	t.Run("platform", func(t *testing.T) { testPlatform(t, temporalClient) })
	t.Run("pass by schedule", func(t *testing.T) { testPassBySchedule(t, temporalClient) })
}

func carriages() []work.Carriage {
	return []work.Carriage{
		{
			Lane: work.Governed, WorkflowID: work.GovernedWorkflowID(slotStart, first.ID),
			SlotStart: slotStart, Works: []work.Ref{second, first},
		},
		{Lane: work.Override, WorkflowID: work.OverrideWorkflowID(first.ID), Works: []work.Ref{first}},
		{Lane: work.Exempt, WorkflowID: work.ExemptWorkflowID(ack.ID), Works: []work.Ref{ack}},
	}
}

// testStarter: each lane on its own task queue under its deterministic id; a
// second start of what runs is reported and changes nothing.
func testStarter(t *testing.T, temporalClient client.Client) {
	queues := workflows.QueuesWith("starter")
	starter := workflows.Starter{Client: temporalClient, Queues: queues, SearchAttributes: true}
	for _, carriage := range carriages() {
		already, err := starter.Start(t.Context(), carriage)
		require.NoError(t, err)
		require.False(t, already)
		already, err = starter.Start(t.Context(), carriage)
		require.NoError(t, err)
		require.True(t, already, "a running workflow is not started twice")
		described, err := temporalClient.DescribeWorkflow(t.Context(), carriage.WorkflowID, "")
		require.NoError(t, err)
		require.Equal(t, queues.Of(carriage.Lane), described.TaskQueueName)
		flows, found := described.TypedSearchAttributes.GetKeywordList(
			temporal.NewSearchAttributeKeyKeywordList(workflows.AttributeFlow))
		require.True(t, found)
		require.Equal(t, []string{carriage.Works[0].Flow}, flows)
		closing, found := described.TypedSearchAttributes.GetTime(
			temporal.NewSearchAttributeKeyTime(workflows.AttributeDeadline))
		require.Equal(t, carriage.Lane != work.Exempt, found)
		if found {
			require.True(t, deadline.Equal(closing), "the earliest of the deadlines")
		}
		require.NoError(t, temporalClient.TerminateWorkflow(t.Context(), carriage.WorkflowID, "", "test"))
	}
}

func testStarterRefuses(t *testing.T, temporalClient client.Client) {
	starter := workflows.Starter{Client: temporalClient, Queues: workflows.QueuesWith("")}
	for wrong, carriage := range map[string]work.Carriage{
		"0 works":        {Lane: work.Governed, WorkflowID: "x"},
		`workflow ""`:    {Lane: work.Governed, Works: []work.Ref{first}},
		"unknown lane":   {Lane: "sideways", WorkflowID: "x", Works: []work.Ref{first}},
		"travels alone":  {Lane: work.Override, WorkflowID: "x", Works: []work.Ref{first, second}},
		"start workflow": {Lane: work.Exempt, WorkflowID: string(make([]byte, 4096)), Works: []work.Ref{ack}},
	} {
		_, err := starter.Start(t.Context(), carriage)
		require.ErrorContains(t, err, wrong)
	}
}

// testRestart: a work that comes back in the same window is carried again under
// the same workflow id, once the first workflow is done; its outcomes can be
// searched.
func testRestart(t *testing.T, temporalClient client.Client) {
	queues := workflows.QueuesWith("restart")
	both := chunk(emitted(first, 1), deferred(second, "slot_expired", time.Time{}))
	script := newScript(map[string][]answer{workflows.ActivityEmitGoverned: {both, both}})
	lane := worker.New(temporalClient, queues.Governed, worker.Options{})
	registerAll(lane, script)
	require.NoError(t, lane.Start())
	defer lane.Stop()
	starter := workflows.Starter{Client: temporalClient, Queues: queues, SearchAttributes: true}
	carriage := carriages()[0]
	for range 2 {
		already, err := starter.Start(t.Context(), carriage)
		require.NoError(t, err)
		require.False(t, already)
		var emission workflows.Emission
		require.NoError(t, temporalClient.GetWorkflow(t.Context(), carriage.WorkflowID, "").Get(t.Context(), &emission))
		require.Len(t, emission.Results, 2)
	}
	script.requirePlayed(t)
	require.Equal(t, governed.Input{
		WorkflowID: carriage.WorkflowID, SlotStart: slotStart, Works: carriage.Works,
	}, script.inputs[workflows.ActivityEmitGoverned][0])
	described, err := temporalClient.DescribeWorkflow(t.Context(), carriage.WorkflowID, "")
	require.NoError(t, err)
	outcomes, _ := described.TypedSearchAttributes.GetKeywordList(
		temporal.NewSearchAttributeKeyKeywordList(workflows.AttributeOutcome))
	require.Equal(t, []string{"deferred", "emitted"}, outcomes)
}

// testSchedule: the same options change nothing, others update, a pause stays.
func testSchedule(t *testing.T, temporalClient client.Client) {
	options := workflows.ScheduleOptions{
		Queues: workflows.QueuesWith("schedule"), Interval: time.Hour, Jitter: time.Second,
	}
	ensure := func() workflows.ScheduleChange {
		change, err := workflows.EnsureSchedule(t.Context(), temporalClient, options)
		require.NoError(t, err)
		return change
	}
	require.Equal(t, workflows.ScheduleCreated, ensure())
	require.Equal(t, workflows.ScheduleUnchanged, ensure())
	handle := temporalClient.ScheduleClient().GetHandle(t.Context(), options.Queues.ScheduleID())
	require.NoError(t, handle.Pause(t.Context(), client.SchedulePauseOptions{Note: "an operator's hand"}))
	options.Interval = 2 * time.Hour
	require.Equal(t, workflows.ScheduleUpdated, ensure())
	require.Equal(t, workflows.ScheduleUnchanged, ensure())
	description, err := handle.Describe(t.Context())
	require.NoError(t, err)
	require.True(t, description.Schedule.State.Paused)
	require.Equal(t, "an operator's hand", description.Schedule.State.Note)
	require.Equal(t, []client.ScheduleIntervalSpec{{Every: 2 * time.Hour}}, description.Schedule.Spec.Intervals)
	require.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, description.Schedule.Policy.Overlap)
	require.Equal(t, time.Minute, description.Schedule.Policy.CatchupWindow)

	options.Interval = 0
	_, err = workflows.EnsureSchedule(t.Context(), temporalClient, options)
	require.ErrorContains(t, err, "interval 0s")
}

// testPassBySchedule: what the schedule starts is what the dispatch worker knows.
func testPassBySchedule(t *testing.T, temporalClient client.Client) {
	queues := workflows.QueuesWith("by-schedule")
	script := newScript(nil)
	passes := worker.New(temporalClient, queues.Dispatch, worker.Options{})
	registerAll(passes, script)
	require.NoError(t, passes.Start())
	defer passes.Stop()
	_, err := workflows.EnsureSchedule(t.Context(), temporalClient,
		workflows.ScheduleOptions{Queues: queues, Interval: time.Hour})
	require.NoError(t, err)
	handle := temporalClient.ScheduleClient().GetHandle(t.Context(), queues.ScheduleID())
	require.NoError(t, handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	var started client.ScheduleActionResult
	require.Eventually(t, func() bool {
		description, err := handle.Describe(t.Context())
		if err != nil || len(description.Info.RecentActions) == 0 {
			return false
		}
		started = description.Info.RecentActions[0]
		return true
	}, time.Minute, 50*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var summary workflows.PassSummary
	require.NoError(t, temporalClient.GetWorkflow(ctx, started.StartWorkflowResult.WorkflowID, "").Get(ctx, &summary))
	require.Equal(t, workflows.PassSummary{}, summary)
	require.Contains(t, started.StartWorkflowResult.WorkflowID, queues.PassWorkflowID())
}
