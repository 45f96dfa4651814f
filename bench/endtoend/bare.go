package endtoend

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
)

const (
	bareQueue = "bare"
	// bareConcurrency is how many activities and workflow tasks run at once, and
	// bareStarts how many workflows are being started: what our governed lane and
	// our pass have with their defaults.
	bareConcurrency = 64
	bareStarts      = 16
)

// bareWorkflow is what one would write first: one activity for one work.
func bareWorkflow(ctx workflow.Context, key string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, "BareCall", key).Get(ctx, nil)
}

// bare is a workflow for each work, started and worked at the same time.
func (stage *stage) bare(ctx context.Context, works int) (outcome, error) {
	caller := newCaller(bareConcurrency)
	defer caller.CloseIdleConnections()
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 2, MinimumNumberOfPollers: 1, MaximumNumberOfPollers: 10,
	})
	working := worker.New(stage.Temporal, bareQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: bareConcurrency, MaxConcurrentWorkflowTaskExecutionSize: 100,
		WorkflowTaskPollerBehavior: pollers, ActivityTaskPollerBehavior: pollers,
	})
	working.RegisterWorkflowWithOptions(bareWorkflow, workflow.RegisterOptions{Name: "Bare"})
	working.RegisterActivityWithOptions(func(ctx context.Context, key string) error {
		return call(ctx, caller, stage.party.url, key)
	}, activity.RegisterOptions{Name: "BareCall"})
	before := stage.party.arrived.Load()
	watch := time.Now()
	if err := working.Start(); err != nil {
		return outcome{}, err
	}
	defer working.Stop()
	if err := stage.runBare(ctx, works, watch); err != nil {
		return outcome{}, err
	}
	took := time.Since(watch)
	events, _, err := stage.history(ctx, since(watch.Add(-time.Second))+" AND WorkflowType = 'Bare'", works)
	if err != nil {
		return outcome{}, err
	}
	return outcome{works, took, events}, stage.checkArrivals(before, works)
}

// runBare starts all workflows, then waits for each.
func (stage *stage) runBare(ctx context.Context, works int, round time.Time) error {
	runs := make([]client.WorkflowRun, works)
	starting, startCtx := errgroup.WithContext(ctx)
	starting.SetLimit(bareStarts)
	for i := range runs {
		starting.Go(func() (err error) {
			id := fmt.Sprintf("bare/%d/%d", round.UnixNano(), i)
			runs[i], err = stage.Temporal.ExecuteWorkflow(startCtx,
				client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue}, "Bare", id)
			return err
		})
	}
	if err := starting.Wait(); err != nil {
		return fmt.Errorf("start bare workflows: %w", err)
	}
	for _, run := range runs {
		if err := run.Get(ctx, nil); err != nil {
			return fmt.Errorf("run a bare workflow: %w", err)
		}
	}
	return nil
}
