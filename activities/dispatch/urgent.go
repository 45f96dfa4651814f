package dispatch

import (
	"context"

	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/activities/internal/heartbeat"
	"github.com/adjourn/adjourn/work"
)

// Chosen is what one step chose and started.
type Chosen struct {
	Works  int    `json:"works"`
	Starts Starts `json:"starts,omitzero"`
	// Problem that ended the rounds early; empty without one.
	Problem string `json:"problem,omitempty"`
}

// StartOverrides chooses works whose deadline is closing and starts a workflow
// for each.
func (activities *Activities) StartOverrides(ctx context.Context) (Chosen, error) {
	policy, err := activities.Policy(ctx)
	if err != nil {
		return Chosen{}, failure.Register(err)
	}
	options := activities.Options.withDefaults()
	return activities.rounds(ctx, activities.Meter.Overridden, func(ctx context.Context) ([]work.Carriage, error) {
		return activities.Overrides.ChooseOverrides(ctx, work.OverrideOptions{
			Flows: policy.Governed(), Margin: options.Margin,
			RestartAfter: options.RestartAfter, Limit: options.Batch,
		})
	})
}

// StartExempt chooses works of flows that are never throttled and starts a
// workflow for each chunk.
func (activities *Activities) StartExempt(ctx context.Context) (Chosen, error) {
	policy, err := activities.Policy(ctx)
	if err != nil {
		return Chosen{}, failure.Register(err)
	}
	options := activities.Options.withDefaults()
	return activities.rounds(ctx, activities.Meter.Exempted, func(ctx context.Context) ([]work.Carriage, error) {
		return activities.Register.ChooseExempt(ctx, work.ExemptOptions{
			Governed: policy.Governed(), Limit: options.Batch, Chunk: options.Chunk,
		})
	})
}

// rounds chooses and starts batch after batch while they are full.
func (activities *Activities) rounds(
	ctx context.Context, count func(work.Tally), choose func(context.Context) ([]work.Carriage, error),
) (Chosen, error) {
	var total Chosen
	defer heartbeat.Start(ctx, func() any { return nil })()
	options := activities.Options.withDefaults()
	for round := range RoundsMax {
		carriages, err := ask(ctx, options, choose)
		if err != nil {
			return total, early(round, err, &total.Problem)
		}
		count(tally(carriages))
		total.Works += worksIn(carriages)
		total.Starts.add(activities.start(ctx, carriages))
		if worksIn(carriages) < options.Batch {
			break
		}
	}
	return total, nil
}
