package postgres

import (
	"context"
	_ "embed" // override.sql
	"fmt"
	"math"
	"strings"

	"github.com/adjourn/adjourn/work"
)

//go:embed override.sql
var overrideSQL string

// ChooseOverrides hands works whose deadline is closing to the override lane, in
// dispatch order, in one statement that names no table of the quota: pending ones
// of the governed flows, in back-off or not, and admitted ones of the governed
// lane that stand still. Each gets a workflow of its own. Works that somebody
// else holds at that moment are left to the next pass.
func (store *Store) ChooseOverrides(
	ctx context.Context, options work.OverrideOptions,
) ([]work.Carriage, error) {
	carriages, err := store.carry(ctx, work.Override, overrideSQL, options.Flows, options.Margin,
		options.RestartAfter, rowLimit(options.Limit), prefixOf(work.OverrideWorkflowID))
	if err != nil {
		return nil, fmt.Errorf("choose overrides: %w", err)
	}
	return carriages, nil
}

// prefixOf is what a lane's workflow ids have in front of the work's id, so that
// a statement can build them.
func prefixOf(workflowID func(work.ID) string) string {
	return strings.TrimSuffix(workflowID(0), work.ID(0).String())
}

// rowLimit fits a limit of rows into a statement; less than none is none.
func rowLimit(limit int) int { return min(max(0, limit), math.MaxInt32) }
