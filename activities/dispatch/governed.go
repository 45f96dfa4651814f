package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/activities/internal/heartbeat"
	"github.com/adjourn/adjourn/work"
)

// Admission is what became of the governed works one pass considered.
type Admission struct {
	Chosen     int            `json:"chosen"`
	Granted    int            `json:"granted"`
	WouldDefer int            `json:"would_defer"`
	Deferred   map[string]int `json:"deferred,omitempty"`
	Starts     Starts         `json:"starts,omitzero"`
	// Problem that ended the rounds early; empty without one.
	Problem string `json:"problem,omitempty"`
}

// StartGoverned reserves slots for governed works in deadline order and starts a
// workflow for each chunk that got them. A refusal is a count in the result, and
// ends the rounds: a full window costs one round, however long the backlog.
func (activities *Activities) StartGoverned(ctx context.Context) (Admission, error) {
	options := activities.Options.withDefaults()
	total := Admission{Deferred: map[string]int{}}
	defer heartbeat.Start(ctx, func() any { return nil })()
	for round := range RoundsMax {
		watch := time.Now()
		batch, err := ask(ctx, options, func(ctx context.Context) (work.AdmissionBatch, error) {
			return activities.Admitter.Admit(ctx, work.AdmitOptions{Limit: options.Batch, Chunk: options.Chunk})
		})
		if err != nil {
			return total, early(round, err, &total.Problem)
		}
		activities.Meter.Reserved(time.Since(watch))
		activities.Meter.Admission(batch)
		total.Chosen += batch.Chosen
		total.Granted += batch.Granted.Total()
		total.WouldDefer += batch.WouldDefer.Total()
		for reason, refused := range batch.Deferred {
			total.Deferred[reason] += refused.Total()
		}
		total.Starts.add(activities.start(ctx, batch.Carriages))
		// An arbiter in error is not asked again in this pass: each asking may wait
		// for its time-out, and the next pass's urgent works with it.
		if batch.Unarbitrated || batch.Chosen < options.Batch || len(batch.Carriages) == 0 {
			break
		}
	}
	return total, nil
}

// Prune deletes finished works past their retention and reservations whose window
// is over, a few batches at most. It tells how many works; broken tables of the
// quota keep no work from being deleted.
func (activities *Activities) Prune(ctx context.Context) (int, error) {
	options := activities.Options.withDefaults()
	defer heartbeat.Start(ctx, func() any { return nil })()
	total, err := activities.pruneWorks(ctx, options)
	_, slotsErr := ask(ctx, options, func(ctx context.Context) (int, error) {
		return activities.Slots.PruneOnce(ctx, options.Batch)
	})
	if err = errors.Join(err, slotsErr); err != nil {
		return total, failure.Register(err)
	}
	return total, nil
}

func (activities *Activities) pruneWorks(ctx context.Context, options Options) (total int, err error) {
	if options.Retention <= 0 {
		return 0, nil
	}
	for range RoundsMax {
		pruned, err := ask(ctx, options, func(ctx context.Context) (int, error) {
			return activities.Register.Prune(ctx, options.Retention, options.Batch)
		})
		total += pruned
		if err != nil || pruned < options.Batch {
			return total, err
		}
	}
	return total, nil
}
