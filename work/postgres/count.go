package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

// Accounting counts emissions that left outside the arbiter, after the fact. It
// is the store behind the accounting. Safe for concurrent use.
type Accounting struct {
	// Store whose pool is used.
	Store *Store
	// Register of the quota.
	Register quotapostgres.Register
}

// CountEmissions adds each emission to the window it left in and to that window's
// figures, in one transaction: all or none. Governed emissions are an error,
// because the arbiter counted them.
func (accounting *Accounting) CountEmissions(ctx context.Context, emissions []work.Emission) error {
	figures, err := emissionFigures(emissions)
	if err != nil {
		return fmt.Errorf("count emissions: %w", err)
	}
	windows := map[time.Time]int{}
	for _, emission := range emissions {
		windows[quota.WindowAt(emission.At, accounting.Register.Window()).Start]++
	}
	err = pgx.BeginTxFunc(ctx, accounting.Store.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted},
		func(tx pgx.Tx) error {
			// Windows in ascending order and the figures last, as everybody locks them.
			for _, windowStart := range slices.SortedFunc(maps.Keys(windows), time.Time.Compare) {
				err := accounting.Register.Charge(ctx, tx, windowStart, windows[windowStart])
				if err != nil {
					return err
				}
			}
			return accounting.Register.AddFigures(ctx, tx, figures)
		})
	if err != nil {
		return fmt.Errorf("count emissions: %w", err)
	}
	return nil
}

// emissionFigures is one figure for each emission; adding them sums them.
func emissionFigures(emissions []work.Emission) ([]quotapostgres.Figure, error) {
	figures := make([]quotapostgres.Figure, 0, len(emissions))
	for _, emission := range emissions {
		figure := quotapostgres.Figure{WindowStart: emission.At, Flow: emission.Flow, Count: 1}
		switch emission.Lane {
		case work.Override:
			figure.Decision = quotapostgres.DecisionOverridden
		case work.Exempt:
			figure.Decision = quotapostgres.DecisionExempt
		case work.Governed:
			return nil, fmt.Errorf("lane %q: accepted are override and exempt", emission.Lane)
		default:
			return nil, fmt.Errorf("lane %q: accepted are override and exempt", emission.Lane)
		}
		figures = append(figures, figure)
	}
	return figures, nil
}
