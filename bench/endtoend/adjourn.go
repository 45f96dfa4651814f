package endtoend

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/workflows"
)

// outcome of one contender in one round.
type outcome struct {
	works  int
	took   time.Duration
	events int64
}

func (outcome outcome) rate() float64 { return float64(outcome.works) / outcome.took.Seconds() }
func (outcome outcome) eventsPerWork() float64 {
	return float64(outcome.events) / float64(outcome.works)
}

// ours is Adjourn, one worker with all lanes.
func (stage *stage) ours(ctx context.Context, works int) (outcome, error) {
	if err := stage.pause(ctx); err != nil {
		return outcome{}, err
	}
	if err := stage.submit(ctx, works); err != nil {
		return outcome{}, err
	}
	cfg, err := config.LoadFrom(settings("ADJOURN_METRICS_ADDR="))
	if err != nil {
		return outcome{}, err
	}
	before := stage.party.arrived.Load()
	watch := time.Now()
	worker, err := stage.StartWorker(ctx, cfg)
	if err != nil {
		return outcome{}, err
	}
	if err := stage.pass(ctx); err != nil {
		return outcome{}, joined(err, worker.Stop)
	}
	err = await(ctx, "every work to be recorded",
		stage.emptied(ctx, before, works, "SELECT FROM adjourn.work"))
	took := time.Since(watch)
	if err == nil {
		err = stage.pause(ctx)
	}
	if err != nil {
		return outcome{}, joined(err, worker.Stop)
	}
	events, _, err := stage.history(ctx, since(watch.Add(-time.Second)), (works+chunk-1)/chunk)
	if err != nil {
		return outcome{}, joined(err, worker.Stop)
	}
	return outcome{works, took, events}, joined(stage.checkArrivals(before, works), worker.Stop)
}

// submit hands works in through the function every caller uses, and lets the
// server count them, as its own autovacuum would within the minute.
func (stage *stage) submit(ctx context.Context, works int) error {
	const batch = 10000
	for first := 0; first < works; first += batch {
		_, err := stage.Pool.Exec(ctx, `SELECT count(adjourn.submit_work(flow => 'bench', payload => $1::BYTEA))
			FROM generate_series(1, $2)`, []byte(body), min(batch, works-first))
		if err != nil {
			return fmt.Errorf("submit works: %w", err)
		}
	}
	_, err := stage.Pool.Exec(ctx, "VACUUM ANALYZE adjourn.work, adjourn.work_payload")
	return err
}

// pause keeps the schedule from starting passes while others are measured.
func (stage *stage) pause(ctx context.Context) error {
	return stage.schedule().Pause(ctx, client.SchedulePauseOptions{})
}

// pass lets the schedule go on, and starts the first pass now.
func (stage *stage) pass(ctx context.Context) error {
	if err := stage.schedule().Unpause(ctx, client.ScheduleUnpauseOptions{}); err != nil {
		return err
	}
	return stage.schedule().Trigger(ctx, client.ScheduleTriggerOptions{})
}

func (stage *stage) schedule() client.ScheduleHandle {
	return stage.Temporal.ScheduleClient().GetHandle(context.Background(), workflows.QueuesWith("").ScheduleID())
}
