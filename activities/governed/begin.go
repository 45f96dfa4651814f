package governed

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// begin starts the attempts of the input's works and returns what became of
// those it did not start.
func (activities *Activities) begin(ctx context.Context, run *attempt.Run, input Input) (Output, error) {
	if isStopping(ctx) {
		return unsent(input.Works), nil
	}
	if activities.Pace == nil {
		return Output{}, run.Begin(ctx, idsOf(input.Works))
	}
	return activities.beginPaced(ctx, run, input)
}

func isStopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

func unsent(works []work.Ref) Output {
	var output Output
	for _, ref := range works {
		output.Results = append(output.Results, work.Result{
			ID: ref.ID, Outcome: work.OutcomeUnsent, Reason: attempt.ReasonWorkerStopping,
		})
	}
	return output
}

// beginPaced begins each work at the instant the cadence gave it, those due
// together in one statement, and releases those whose instant lies past their
// window. The most urgent work gets the first instant (G4).
func (activities *Activities) beginPaced(ctx context.Context, run *attempt.Run, input Input) (Output, error) {
	works := slices.SortedFunc(slices.Values(input.Works), work.Compare)
	offsets := activities.askPace(ctx, len(works))
	// After the answer: a delay on the way makes an attempt later, never earlier.
	watch := time.Now()
	left := activities.slotLeft(ctx, input.SlotStart)
	fits, _ := slices.BinarySearch(offsets, max(0, left-activities.Options.Guard)+1)
	output := activities.release(ctx, input.WorkflowID, works[fits:], left)
	for next := 0; next < fits; {
		if !wait(ctx, time.Until(watch.Add(offsets[next]))) {
			output.Results = append(output.Results, unsent(works[next:fits]).Results...)
			break
		}
		due := next + 1
		for due < fits && offsets[due] <= time.Since(watch) {
			due++
		}
		if err := run.Begin(ctx, idsOf(works[next:due])); err != nil {
			return Output{}, err
		}
		next = due
	}
	return output, nil
}

// wait until delay has passed; false when the worker stops or ctx ends first.
func wait(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-activity.GetWorkerStopChannel(ctx):
		return false
	case <-ctx.Done():
		return false
	}
}

// askPace returns the start instants of n attempts, ascending.
func (activities *Activities) askPace(ctx context.Context, n int) []time.Duration {
	asking, cancel := context.WithTimeout(ctx, activities.Options.WithDefaults().StatementTimeout)
	defer cancel()
	offsets, err := activities.Pace.offsets(asking, n)
	if err != nil {
		activities.Meter.CadenceFailed()
		activity.GetLogger(ctx).Warn("the cadence could not be asked: this process paces itself", "error", err)
	}
	return offsets
}

// slotLeft is how much of the works' window is left on the database's clock. It
// only decides who need not wait: whether a slot may be used is decided when the
// work begins. When the clock cannot be asked, the window counts as whole.
func (activities *Activities) slotLeft(ctx context.Context, slotStart time.Time) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, activities.Options.WithDefaults().StatementTimeout)
	defer cancel()
	usage, err := activities.Arbiter.Usage(ctx)
	if err != nil {
		return activities.Options.Window
	}
	slot := quota.Window{Start: slotStart, Length: activities.Options.Window}
	if slotStart.IsZero() {
		slot = usage.Window
	}
	return slot.End().Sub(usage.Now)
}

// release gives works back whose instant lies past their window. A register that
// cannot be told makes them pending itself when the window is over.
func (activities *Activities) release(
	ctx context.Context, workflowID string, works []work.Ref, left time.Duration,
) (output Output) {
	if len(works) == 0 {
		return output
	}
	reason := quota.ReasonCadence
	if left < activities.Options.Guard {
		reason = quota.ReasonSlotExpired
	}
	telling, cancel := context.WithTimeout(ctx, activities.Options.WithDefaults().StatementTimeout)
	defer cancel()
	released, err := activities.Releaser.Release(telling, work.ReleaseOptions{
		WorkflowID: workflowID, IDs: idsOf(works), Reason: string(reason),
	})
	if err != nil {
		activity.GetLogger(ctx).Warn("works past their window could not be given back yet",
			"works", len(works), "error", err)
		released = idsOf(works)
	}
	for _, id := range idsOf(works) {
		if !slices.Contains(released, id) {
			output.Gone = append(output.Gone, id)
			continue
		}
		output.Results = append(output.Results, work.Result{
			ID: id, Outcome: work.OutcomeDeferred, Reason: string(reason),
		})
	}
	return output
}
