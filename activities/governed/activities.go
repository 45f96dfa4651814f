package governed

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/activities/internal/heartbeat"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// Arbiter is what the lane asks of the arbiter beside slots.
// [quota.Arbiter] implements it.
type Arbiter interface {
	// Hold keeps every reservation back until the given instant of the
	// database's clock.
	Hold(ctx context.Context, until time.Time) error
	// Usage tells the database's clock and the current window.
	Usage(ctx context.Context) (quota.Usage, error)
}

// Meter is told what the lane decides and does. It must not block.
type Meter interface {
	attempt.Meter
	// Admission counts what became of works started without a slot.
	Admission(batch work.AdmissionBatch)
	// Reserved takes note of how long one admission took.
	Reserved(took time.Duration)
	// Deferred counts admitted works that went back to waiting.
	Deferred(flow, reason string, works int)
	// HoldFailed counts holds the arbiter could not be told of.
	HoldFailed()
	// CadenceFailed counts chunks that paced themselves because the cadence
	// could not be asked.
	CadenceFailed()
}

// Options of the lane: see the fields' own comments for defaults.
type Options = attempt.Options

// Activities of the governed lane. Safe for concurrent use.
type Activities struct {
	Recorder work.Recorder
	Releaser work.Releaser
	Admitter work.Admitter
	Emitter  emitter.Emitter
	Arbiter  Arbiter
	// Pace spreads attempts; nil lets them go at once.
	Pace    *Pace
	Meter   Meter
	Options Options
	// Random is the jitter's source of fractions in [0, 1); nil is math/rand.
	Random func() float64
}

// Input names the admitted works of one workflow.
type Input struct {
	WorkflowID string `json:"workflow_id"`
	// SlotStart is the window the works' slots belong to; zero when not known.
	SlotStart time.Time  `json:"slot_start,omitzero"`
	Works     []work.Ref `json:"works"`
}

// Output is what became of each work, each list ordered by ID.
type Output struct {
	Results []work.Result `json:"results"`
	// Gone are no longer this workflow's; the register knows what became of them.
	Gone []work.ID `json:"gone,omitempty"`
}

// WorksMax bounds the works of one input.
const WorksMax = 1000

// EmitChunk makes one attempt for each work that still has its slot, all at the
// same time or at the instants the cadence gives, and records every outcome. A
// refusal, a deferral and a rejection are results; only a register that cannot
// be asked is an error. When the worker stops, attempts in flight finish and
// works not begun are reported unsent, with their slot kept.
func (activities *Activities) EmitChunk(ctx context.Context, input Input) (Output, error) {
	if err := checkInput(input); err != nil {
		return Output{}, err
	}
	run := activities.engine(ctx).Open(ctx, attempt.Load{
		Lane: work.Governed, WorkflowID: input.WorkflowID, Logger: activity.GetLogger(ctx),
	})
	stopHeartbeat := heartbeat.Start(ctx, func() any { return run.Progress() })
	defer stopHeartbeat()
	notBegun, err := activities.begin(ctx, run, input)
	report := run.Close()
	if err != nil {
		// What was begun is recorded; begun again, those works will be gone.
		return Output{}, failure.Register(err)
	}
	output := Output{Results: append(report.Results, notBegun.Results...), Gone: append(report.Gone, notBegun.Gone...)}
	for _, busy := range report.Busy {
		// Of a worker that died. When the attempt is surely over, a recovery
		// makes the work pending; its slot is spent.
		output.Results = append(output.Results, work.Result{
			ID: busy.ID, Outcome: work.OutcomeSpent, Reason: attempt.ReasonInFlight, RetryAt: busy.Until,
		})
	}
	output.sort()
	activities.countDeferred(input.Works, output.Results)
	return output, nil
}

func checkInput(input Input) error {
	if len(input.Works) == 0 || len(input.Works) > WorksMax {
		return failure.Input(fmt.Sprintf("works: got %d, accepted are 1 to %d", len(input.Works), WorksMax))
	}
	if input.WorkflowID == "" {
		return failure.Input("workflow_id: empty, accepted is the workflow that carries the works")
	}
	return nil
}

func (activities *Activities) engine(ctx context.Context) attempt.Engine {
	return attempt.Engine{
		Recorder: activities.Recorder, Emitter: activities.Emitter, Meter: activities.Meter,
		Options: activities.Options, Random: activities.Random,
		Limited: activities.holder(activity.GetLogger(ctx)),
	}
}

// countDeferred counts the works that wait again. Those refused by the arbiter
// were counted when they were refused.
func (activities *Activities) countDeferred(works []work.Ref, results []work.Result) {
	flows := map[work.ID]string{}
	for _, ref := range works {
		flows[ref.ID] = ref.Flow
	}
	type deferral struct{ flow, reason string }
	tally := map[deferral]int{}
	for _, result := range results {
		if result.Outcome == work.OutcomeDeferred {
			tally[deferral{flows[result.ID], result.Reason}]++
		}
	}
	for deferred, count := range tally {
		activities.Meter.Deferred(deferred.flow, deferred.reason, count)
	}
}
