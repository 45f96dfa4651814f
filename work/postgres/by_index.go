package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// byIndexSQL makes the rest of a transaction read by index alone, or as good as.
// A pass knows by which index its cost follows what it starts; the planner knows
// only what it last counted. A plan kept from an empty table, or made just after a
// large submission, would read the whole backlog, pass after pass, until the
// table is analyzed again. A table that has no index to go by looks infinitely
// expensive to read then, and is not: no reason to compile the statement.
const byIndexSQL = `SELECT set_config('enable_seqscan', 'off', TRUE),
       set_config('enable_bitmapscan', 'off', TRUE), set_config('jit', 'off', TRUE)`

// sender sends statements together; a pool, a connection and a transaction each
// fit. Outside of a transaction they are one of their own.
type sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// queryByIndex runs a statement planned for the indexes, in one round trip, and
// returns its rows.
func queryByIndex[Row any](
	ctx context.Context, db sender, scan pgx.RowToFunc[Row], statement string, arguments ...any,
) ([]Row, error) {
	var scanned []Row
	var batch pgx.Batch
	batch.Queue(byIndexSQL)
	batch.Queue(statement, arguments...).Query(func(rows pgx.Rows) (err error) {
		scanned, err = pgx.CollectRows(rows, scan)
		return err
	})
	// Closing is what ends the transaction: without its nil nothing happened.
	if err := db.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	return scanned, nil
}
