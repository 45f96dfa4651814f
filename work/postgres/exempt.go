package postgres

import (
	"context"
	_ "embed" // exempt.sql
	"fmt"

	"github.com/adjourn/adjourn/work"
)

//go:embed exempt.sql
var exemptSQL string

// ChooseExempt hands pending works of every flow that is not governed to the
// exempt lane, in dispatch order, in one statement that names no table of the
// quota. Each workflow carries at most a chunk of one flow; a chunk below 1
// counts as 1.
func (store *Store) ChooseExempt(
	ctx context.Context, options work.ExemptOptions,
) ([]work.Carriage, error) {
	governed := append([]string{}, options.Governed...) // never NULL, which would exempt nothing
	carriages, err := store.carry(ctx, work.Exempt, exemptSQL, governed,
		rowLimit(options.Limit), max(1, rowLimit(options.Chunk)), prefixOf(work.ExemptWorkflowID))
	if err != nil {
		return nil, fmt.Errorf("choose exempt works: %w", err)
	}
	return carriages, nil
}
