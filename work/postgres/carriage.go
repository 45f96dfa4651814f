package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/adjourn/adjourn/work"
)

// carriedWork is one work with the workflow that carries it.
type carriedWork struct {
	work.Ref
	lane       work.Lane
	workflowID string
	slotStart  time.Time
}

// carry runs a statement that hands works to a lane and returns their carriages.
func (store *Store) carry(
	ctx context.Context, lane work.Lane, statement string, arguments ...any,
) ([]work.Carriage, error) {
	works, err := queryByIndex(ctx, store.pool, func(row pgx.CollectableRow) (carriedWork, error) {
		carried := carriedWork{lane: lane}
		err := row.Scan(&carried.ID, &carried.Flow, (*zeronull.Timestamptz)(&carried.Deadline),
			&carried.workflowID)
		carried.Deadline = inUTC(carried.Deadline)
		return carried, err
	}, statement, arguments...)
	if err != nil {
		return nil, err
	}
	return group(works), nil
}

// group puts the works of each workflow and window into one carriage; works and
// carriages are in dispatch order.
func group(works []carriedWork) []work.Carriage {
	slices.SortFunc(works, func(a, b carriedWork) int { return work.Compare(a.Ref, b.Ref) })
	type key struct {
		workflowID string
		slotStart  time.Time
	}
	places := map[key]int{}
	var carriages []work.Carriage
	for _, carried := range works {
		of := key{carried.workflowID, carried.slotStart}
		place, known := places[of]
		if !known {
			place = len(carriages)
			places[of] = place
			carriages = append(carriages, work.Carriage{
				Lane: carried.lane, WorkflowID: carried.workflowID, SlotStart: carried.slotStart,
			})
		}
		carriages[place].Works = append(carriages[place].Works, carried.Ref)
	}
	return carriages
}
