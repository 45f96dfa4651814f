package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adjourn/adjourn/quota"
)

// Cadence keeps one schedule of start instants for all processes on one database:
// one row, one statement per call. Safe for concurrent use.
type Cadence struct {
	pool    *pgxpool.Pool
	options Options
	rate    quota.CadenceRate
}

var _ quota.Cadence = (*Cadence)(nil)

// NewCadence keeps rate on pool. It needs the windows' length because it promises
// nothing beyond the end of the present one. It panics when the length does not
// pass [quota.ValidateLength].
func NewCadence(pool *pgxpool.Pool, options Options, rate quota.CadenceRate) *Cadence {
	return &Cadence{pool: pool, options: options.withDefaults(), rate: rate}
}

// Schedule implements [quota.Cadence]. Switched off, it answers n times now and
// asks nobody.
func (cadence *Cadence) Schedule(ctx context.Context, n int) ([]time.Duration, error) {
	if cadence.rate.Off() || n < 1 {
		return make([]time.Duration, max(0, n)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, cadence.options.Timeout)
	defer cancel()
	first, err := cadence.promise(ctx, n)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := cadence.pool.Exec(ctx, openScheduleSQL); err != nil {
			return nil, fmt.Errorf("open the cadence: %w", err)
		}
		first, err = cadence.promise(ctx, n)
	}
	if err != nil {
		return nil, fmt.Errorf("schedule by the cadence: %w", err)
	}
	distances := make([]time.Duration, n)
	cadence.rate.Spread(distances, first)
	return distances, nil
}

// promise books n instants and returns the distance of the first from the
// database's now, negative by as much as a quiet time earned.
func (cadence *Cadence) promise(ctx context.Context, n int) (first time.Duration, err error) {
	err = cadence.pool.QueryRow(ctx, scheduleSQL,
		cadence.options.Window, cadence.rate.Slack(), cadence.rate.Span(n)).Scan(&first)
	return first, err
}
