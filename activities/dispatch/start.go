package dispatch

import (
	"context"
	"sync"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/adjourn/adjourn/work"
)

// Starts counts the workflows of one step.
type Starts struct {
	// Started newly; Running were running already.
	Started int `json:"started"`
	Running int `json:"running,omitempty"`
	// Failed to start: their works stay admitted and a later pass starts them.
	Failed int `json:"failed,omitempty"`
	// Problem of the last failure; empty without one.
	Problem string `json:"problem,omitempty"`
}

func (starts *Starts) add(other Starts) {
	starts.Started += other.Started
	starts.Running += other.Running
	starts.Failed += other.Failed
	if other.Problem != "" {
		starts.Problem = other.Problem
	}
}

// start starts a workflow for each carriage, several at a time, in the order
// given. A failure stops none of the others.
func (activities *Activities) start(ctx context.Context, carriages []work.Carriage) Starts {
	if len(carriages) == 0 {
		return Starts{}
	}
	options := activities.Options.withDefaults()
	var mu sync.Mutex
	var starts Starts
	var group errgroup.Group
	group.SetLimit(options.StartLimit)
	for _, carriage := range carriages {
		group.Go(func() error {
			one := activities.startOne(ctx, carriage, options)
			mu.Lock()
			defer mu.Unlock()
			starts.add(one)
			return nil
		})
	}
	_ = group.Wait() // the functions above return no error
	activities.Meter.Started(carriages[0].Lane, starts.Started, starts.Running, starts.Failed)
	return starts
}

func (activities *Activities) startOne(ctx context.Context, carriage work.Carriage, options Options) Starts {
	ctx, cancel := context.WithTimeout(ctx, options.StartTimeout)
	defer cancel()
	running, err := activities.Starter.Start(ctx, carriage)
	switch {
	case err != nil:
		activity.GetLogger(ctx).Error("a workflow could not be started: a later pass tries again",
			"lane", carriage.Lane, "workflow", carriage.WorkflowID, "works", len(carriage.Works), "error", err)
		return Starts{Failed: 1, Problem: "start " + carriage.WorkflowID + ": " + err.Error()}
	case running:
		return Starts{Running: 1}
	default:
		return Starts{Started: 1}
	}
}
