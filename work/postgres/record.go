package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

//go:embed record.sql
var recordSQL string

// Record implements [work.Recorder]: one autocommit statement writes all the
// endings. An emitted work moves to the archive. Repeats are harmless. An ending
// whose attempt is no longer its work's latest is left out, and so is one that a
// recovery gave up, unless it is an acceptance: the third party has that work
// (G9).
func (store *Store) Record(ctx context.Context, lane work.Lane, endings []work.Ending) ([]work.ID, error) {
	var columns endingColumns
	for _, ending := range endings {
		columns.add(ending)
	}
	recorded, err := queryByIndex(ctx, store.pool, pgx.RowTo[work.ID], recordSQL, lane,
		columns.ids, columns.attempts, columns.outcomes, columns.reasons, columns.details,
		columns.statuses, columns.references, columns.answers, columns.retryIns)
	if err != nil {
		return nil, fmt.Errorf("record endings: %w", err)
	}
	return recorded, nil
}

// endingColumns holds endings side by side, as unnest takes them.
type endingColumns struct {
	ids        []work.ID
	attempts   []int
	outcomes   []string
	reasons    []*string
	details    []*string
	statuses   []*int
	references []*string
	answers    []*string
	retryIns   []float64
}

func (columns *endingColumns) add(ending work.Ending) {
	columns.ids = append(columns.ids, ending.ID)
	columns.attempts = append(columns.attempts, ending.Sequence)
	columns.outcomes = append(columns.outcomes, string(ending.Outcome))
	columns.reasons = append(columns.reasons, nullable(ending.Reason))
	columns.details = append(columns.details, nullable(storable(ending.Detail)))
	columns.statuses = append(columns.statuses, nullable(ending.Receipt.Status))
	columns.references = append(columns.references, nullable(storable(ending.Receipt.Reference)))
	columns.answers = append(columns.answers, nullable(storable(ending.Receipt.Answer)))
	columns.retryIns = append(columns.retryIns, ending.RetryIn.Seconds())
}

// nullable writes a zero value as NULL.
func nullable[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
