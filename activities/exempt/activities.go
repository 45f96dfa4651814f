// Package exempt is the lane of flows that are never throttled: acknowledgements,
// paths without limit or without retry, and flows nobody declared. They are
// counted after the fact (G6).
//
// Like the override lane it cannot reach the arbiter: it imports nothing of the
// quota.
package exempt

import (
	"context"
	"fmt"
	"slices"
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

// Activities of the exempt lane. Safe for concurrent use.
type Activities struct {
	Recorder work.Recorder
	Emitter  emitter.Emitter
	Counter  Counter
	Meter    Meter
	Options  Options
	// NoRetryFlows are attempted once: whatever does not emit their works fails
	// them. Others are retried without limit.
	NoRetryFlows []string
	// RetryMax caps the wait before another attempt, whatever the third party
	// asks for; default 1 min.
	RetryMax time.Duration
}

// Input names the works of one workflow, all of one flow.
type Input struct {
	WorkflowID string     `json:"workflow_id"`
	Works      []work.Ref `json:"works"`
}

// Output is what became of each work, each list ordered by ID.
type Output struct {
	Results []work.Result `json:"results"`
	// Gone are no longer this workflow's; the register knows what became of them.
	Gone []work.ID `json:"gone,omitempty"`
}

// WorksMax bounds the works of one input.
const WorksMax = 1000

// EmitChunk makes one attempt for each work, all at the same time. Accepted and
// rejected are results. When works are left that the flow retries, it returns an
// error that Temporal retries; what was settled is kept over such retries.
func (activities *Activities) EmitChunk(ctx context.Context, input Input) (Output, error) {
	if len(input.Works) == 0 || len(input.Works) > WorksMax || input.WorkflowID == "" {
		return Output{}, failure.Input(fmt.Sprintf(
			"%d works of workflow %q: accepted are 1 to %d works and the workflow that carries them",
			len(input.Works), input.WorkflowID, WorksMax))
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return Output{}, failure.Stopping()
	default:
	}
	settled := earlierResults(ctx)
	stopHeartbeat := heartbeat.Start(ctx, func() any { return settled })
	defer stopHeartbeat()
	engine := attempt.Engine{
		Recorder: activities.Recorder, Emitter: activities.Emitter, Meter: activities.Meter,
		Options: activities.Options, Sent: activities.Counter.Count,
	}
	load := attempt.Load{
		Lane: work.Exempt, WorkflowID: input.WorkflowID, Logger: activity.GetLogger(ctx),
		NoRetry: slices.Contains(activities.NoRetryFlows, input.Works[0].Flow),
	}
	report, err := engine.Do(ctx, load, unsettled(input.Works, settled))
	if err != nil {
		return Output{}, failure.Register(err)
	}
	stopHeartbeat() // its details would replace the ones below
	output, err := activities.settle(load, settled, report)
	if err != nil {
		activity.RecordHeartbeat(ctx, output.Results)
	}
	return output, err
}
