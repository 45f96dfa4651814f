package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed prune.sql
var pruneSQL string

// Prune forgets works that finished longer than retention ago, with their
// payloads, attempts, deferrals and keys, oldest first and at most limit, and
// returns how many. A retention of zero or less keeps everything. Windows and
// their figures are kept: they are a few rows an hour.
func (store *Store) Prune(ctx context.Context, retention time.Duration, limit int) (int, error) {
	if retention <= 0 {
		return 0, nil
	}
	tag, err := store.pool.Exec(ctx, pruneSQL, retention, rowLimit(limit))
	if err != nil {
		return 0, fmt.Errorf("prune finished works: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
