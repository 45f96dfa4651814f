package postgres

import (
	"context"
	_ "embed" // release.sql
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

//go:embed release.sql
var releaseSQL string

var _ work.Releaser = (*Store)(nil)

// Release implements [work.Releaser] in one autocommit statement. The works it
// returns are ordered by ID.
func (store *Store) Release(ctx context.Context, options work.ReleaseOptions) ([]work.ID, error) {
	released, err := queryByIndex(ctx, store.pool, pgx.RowTo[work.ID], releaseSQL,
		options.IDs, options.WorkflowID, nullable(storable(options.Reason)))
	if err != nil {
		return nil, fmt.Errorf("release works: %w", err)
	}
	slices.Sort(released)
	return released, nil
}
