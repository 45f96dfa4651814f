package postgres

import (
	"context"
	"fmt"
	"time"
)

// Now reads the database's clock, the one all decisions go by (G12), in UTC. It
// names no table, so that whoever asks depends on none.
func (store *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := store.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now.UTC(), nil
}
