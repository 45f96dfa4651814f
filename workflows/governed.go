package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// EmitGovernedInput names the works to emit.
type EmitGovernedInput struct {
	Works []work.Ref `json:"works"`
	// SlotStart is the window the works' slots belong to. Zero: they have none,
	// and the workflow asks for one each.
	SlotStart time.Time `json:"slot_start,omitzero"`
	// SearchAttributes are registered in this namespace.
	SearchAttributes bool `json:"search_attributes,omitempty"`
}

// Emission is what became of a workflow's works, each list ordered by ID.
type Emission struct {
	Results []work.Result `json:"results"`
	// Gone were not this workflow's any more; the register knows what became of
	// them.
	Gone []work.ID `json:"gone,omitempty"`
}

// EmitGoverned emits works that hold a slot, or asks for one first. Works of
// which nothing was sent keep their slot and are tried again while its window
// lasts. It completes whatever becomes of the works; a deferred one waits in the
// register and is dispatched by a later pass.
func EmitGoverned(ctx workflow.Context, input EmitGovernedInput) (Emission, error) {
	run := governedRun{ctx: ctx, workflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
	works, slotStart := input.Works, input.SlotStart
	if slotStart.IsZero() {
		var err error
		if works, slotStart, err = run.admit(input.Works); err != nil {
			return Emission{}, err
		}
	}
	if err := run.emitWhileUnsent(works, slotStart); err != nil {
		return Emission{}, err
	}
	emission := run.emission()
	return emission, tellOutcomes(ctx, input.SearchAttributes, emission.Results)
}

type governedRun struct {
	ctx        workflow.Context
	workflowID string
	results    []work.Result
	gone       []work.ID
}

// admit asks for slots. When even that cannot be asked, the works wait as they
// did: that is a deferral, not a failure (G8).
func (run *governedRun) admit(works []work.Ref) ([]work.Ref, time.Time, error) {
	ctx := workflow.WithActivityOptions(run.ctx, activityOptions(ActivityAdmitWorks))
	input := governed.Input{WorkflowID: run.workflowID, Works: works}
	var admitted governed.Admitted
	err := workflow.ExecuteActivity(ctx, ActivityAdmitWorks, input).Get(ctx, &admitted)
	if temporal.IsCanceledError(err) || isFinal(err) {
		return nil, time.Time{}, err
	}
	if err != nil {
		workflow.GetLogger(run.ctx).Error("works could not be admitted; they wait for a pass", "error", err)
		for _, ref := range works {
			run.results = append(run.results, work.Result{
				ID: ref.ID, Outcome: work.OutcomeDeferred, Reason: string(quota.ReasonArbiterUnavailable),
			})
		}
		return nil, time.Time{}, nil
	}
	run.results = append(run.results, admitted.Refused...)
	run.gone = append(run.gone, admitted.Gone...)
	return admitted.Works, admitted.SlotStart, nil
}

// isFinal tells a caller's mistake, which no waiting helps.
func isFinal(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.NonRetryable()
}

func (run *governedRun) emitWhileUnsent(works []work.Ref, slotStart time.Time) error {
	ctx := workflow.WithActivityOptions(run.ctx, activityOptions(ActivityEmitGoverned))
	pause := unsentPause
	for try := 1; len(works) > 0; try++ {
		input := governed.Input{WorkflowID: run.workflowID, SlotStart: slotStart, Works: works}
		var output governed.Output
		if err := workflow.ExecuteActivity(ctx, ActivityEmitGoverned, input).Get(ctx, &output); err != nil {
			return err
		}
		run.gone = append(run.gone, output.Gone...)
		works = run.settle(works, output.Results, try == unsentTriesMax)
		if len(works) == 0 {
			return nil
		}
		if err := workflow.Sleep(run.ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, unsentPauseMax)
	}
	return nil
}

// settle keeps the results and returns the works to try again: those of which
// nothing was sent, unless this was the last try.
func (run *governedRun) settle(works []work.Ref, results []work.Result, last bool) (again []work.Ref) {
	for _, result := range results {
		if result.Outcome != work.OutcomeUnsent || last {
			run.results = append(run.results, result)
			continue
		}
		index := slices.IndexFunc(works, func(ref work.Ref) bool { return ref.ID == result.ID })
		if index >= 0 {
			again = append(again, works[index])
		}
	}
	return again
}

func (run *governedRun) emission() Emission {
	return sorted(Emission{Results: run.results, Gone: run.gone})
}

func sorted(emission Emission) Emission {
	slices.SortFunc(emission.Results, func(a, b work.Result) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(emission.Gone)
	return emission
}
