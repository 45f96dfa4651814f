package postgres

import (
	"context"
	_ "embed" // recover_slots.sql, recover_attempts.sql, wake.sql, restart.sql
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/adjourn/adjourn/work"
)

var (
	//go:embed recover_slots.sql
	recoverSlotsSQL string
	//go:embed recover_attempts.sql
	recoverAttemptsSQL string
	//go:embed wake.sql
	wakeSQL string
	//go:embed restart.sql
	restartSQL string
)

// Recover puts right what processes that died left behind, in four statements,
// each bounded by the limit: slots whose window is over, attempts that are surely
// over, back-offs that are over, and admitted works that stand still. The last
// are returned to be started again; each comes back no sooner than RestartAfter
// later. After an error the parts before it are done, and none was lost: what is
// to be started is asked last.
func (store *Store) Recover(
	ctx context.Context, options work.RecoverOptions,
) (recovery work.Recovery, err error) {
	limit := rowLimit(options.Limit)
	recovery.ExpiredSlots, err = store.change(ctx, recoverSlotsSQL, options.Window, limit)
	if err != nil {
		return recovery, fmt.Errorf("recover slots whose window is over: %w", err)
	}
	recovery.LostAttempts, err = store.change(ctx, recoverAttemptsSQL, options.NoRetryFlows,
		options.Backoff.Base.Seconds(), options.Backoff.Max.Seconds(), limit)
	if err != nil {
		return recovery, fmt.Errorf("recover lost attempts: %w", err)
	}
	recovery.Woken, err = store.change(ctx, wakeSQL, limit)
	if err != nil {
		return recovery, fmt.Errorf("end back-offs: %w", err)
	}
	recovery.Restart, err = store.restart(ctx, options, limit)
	if err != nil {
		return recovery, fmt.Errorf("find works that stand still: %w", err)
	}
	return recovery, nil
}

// change runs a statement and tells how many works it changed.
func (store *Store) change(ctx context.Context, statement string, arguments ...any) (int, error) {
	changed, err := queryByIndex(ctx, store.pool, pgx.RowTo[work.ID], statement, arguments...)
	return len(changed), err
}

func (store *Store) restart(
	ctx context.Context, options work.RecoverOptions, limit int,
) ([]work.Carriage, error) {
	works, err := queryByIndex(ctx, store.pool, func(row pgx.CollectableRow) (carriedWork, error) {
		var carried carriedWork
		err := row.Scan(&carried.ID, &carried.Flow, (*zeronull.Timestamptz)(&carried.Deadline),
			&carried.lane, &carried.workflowID, (*zeronull.Timestamptz)(&carried.slotStart))
		carried.Deadline, carried.slotStart = inUTC(carried.Deadline), inUTC(carried.slotStart)
		return carried, err
	}, restartSQL, options.Window, options.RestartAfter, limit)
	if err != nil {
		return nil, err
	}
	return group(works), nil
}
