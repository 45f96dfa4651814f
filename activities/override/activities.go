// Package override is the lane of works whose deadline is closing: one work, one
// workflow, retried until the third party has it.
//
// It must stay unable to reach the arbiter: it imports nothing of the quota, has
// no field that leads there, and runs on its own task queue and connections, so
// that a quota that is full, locked or destroyed cannot hold an urgent work back
// (G2).
package override

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/activities/internal/heartbeat"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/work"
)

// Counter takes note of an emission after it was made. It must neither block nor
// fail.
type Counter interface {
	Count(emission work.Emission)
}

// Meter is told how attempts end. It must not block.
type Meter = attempt.Meter

// Options of the lane: see the fields' own comments for defaults.
type Options = attempt.Options

// Activities of the override lane. Safe for concurrent use.
type Activities struct {
	Recorder work.Recorder
	Emitter  emitter.Emitter
	Counter  Counter
	Meter    Meter
	Options  Options
	// RetryMax caps the wait before another attempt, whatever the third party
	// asks for; default 1 min.
	RetryMax time.Duration
}

// Input names the work of one workflow.
type Input struct {
	WorkflowID string   `json:"workflow_id"`
	Work       work.Ref `json:"work"`
}

// Output is what became of the work.
type Output struct {
	// Result is emitted or failed; nil when the work is gone.
	Result *work.Result `json:"result,omitempty"`
	// Gone: the work is no longer this workflow's; the register knows what
	// became of it.
	Gone bool `json:"gone,omitempty"`
}

// Emit makes one attempt for the work. Accepted and rejected are results; with
// any other ending it returns an error that Temporal retries, at the instant the
// third party asked for, capped.
func (activities *Activities) Emit(ctx context.Context, input Input) (Output, error) {
	if input.WorkflowID == "" || input.Work.ID <= 0 {
		return Output{}, failure.Input(fmt.Sprintf(
			"work %d of workflow %q: accepted are a positive id and the workflow that carries it",
			input.Work.ID, input.WorkflowID))
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return Output{}, failure.Stopping()
	default:
	}
	defer heartbeat.Start(ctx, func() any { return nil })()
	engine := attempt.Engine{
		Recorder: activities.Recorder, Emitter: activities.Emitter, Meter: activities.Meter,
		Options: activities.Options, Sent: activities.Counter.Count,
	}
	report, err := engine.Do(ctx, attempt.Load{
		Lane: work.Override, WorkflowID: input.WorkflowID, Logger: activity.GetLogger(ctx),
	}, []work.ID{input.Work.ID})
	if err != nil {
		return Output{}, failure.Register(err)
	}
	return activities.settle(report)
}

func (activities *Activities) settle(report attempt.Report) (Output, error) {
	if len(report.Busy) > 0 {
		return Output{}, failure.InFlight(report.Busy[0].Until, activities.Options.WithDefaults().SurelyOver())
	}
	if len(report.Results) == 0 {
		return Output{Gone: true}, nil
	}
	result := report.Results[0]
	if result.Outcome == work.OutcomeEmitted || result.Outcome == work.OutcomeFailed {
		return Output{Result: &result}, nil
	}
	retryMax := activities.RetryMax
	if retryMax <= 0 {
		retryMax = time.Minute
	}
	return Output{}, failure.Ended(result, min(report.LimitedFor, retryMax))
}
