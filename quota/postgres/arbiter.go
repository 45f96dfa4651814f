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

// ErrArbiterClosed answers calls to an arbiter after Close.
var ErrArbiterClosed = errors.New("the arbiter is closed")

// Arbiter decides on its own pool, shared by all processes on one database. The
// concurrent Reserve calls of one process are combined into one statement in
// flight, and a window known to be full refuses without one, until it turns or a
// caller brings a higher ceiling. Safe for concurrent use.
type Arbiter struct {
	pool     *pgxpool.Pool
	register Register
	combiner *combiner
}

var _ quota.Arbiter = (*Arbiter)(nil)

// NewArbiter starts an arbiter on pool, which should be its own and set up by
// [ConfigurePool]; the caller closes the arbiter first and the pool after it. It
// panics when the window's length does not pass [quota.ValidateLength].
func NewArbiter(pool *pgxpool.Pool, options Options) *Arbiter {
	register := NewRegister(options)
	reserve := func(ctx context.Context, ceiling int32, slots int) (quota.Grant, error) {
		return register.Reserve(ctx, pool, ceiling, slots)
	}
	return &Arbiter{
		pool:     pool,
		register: register,
		combiner: newCombiner(reserve, register.options.Timeout),
	}
}

// Close waits for the statement in flight; whoever still queues is answered with
// [ErrArbiterClosed]. It may be called more than once.
func (arbiter *Arbiter) Close() { arbiter.combiner.close() }

// Reserve implements [quota.Arbiter]. The count of a refusal from memory is what
// this process knew last; others may have pushed it further since.
func (arbiter *Arbiter) Reserve(ctx context.Context, ceiling int32, slots int) (quota.Grant, error) {
	return arbiter.combiner.Reserve(ctx, ceiling, slots)
}

// ReserveOnce implements [quota.Arbiter]. It is a transaction of two statements
// sent together: the key's lock, then a reservation that sees what the lock's
// last holder committed.
func (arbiter *Arbiter) ReserveOnce(ctx context.Context, ceiling int32, key string) (quota.Grant, error) {
	if err := quota.ValidateKey(key); err != nil {
		return quota.Grant{}, fmt.Errorf("reserve quota once: %w", err)
	}
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	defer arbiter.combiner.full.forget()
	var grant quota.Grant
	var batch pgx.Batch
	batch.Queue(lockKeySQL, key)
	batch.Queue(reserveOnceSQL, arbiter.register.options.Window, ceiling, key).
		QueryRow(func(row pgx.Row) (err error) {
			grant, err = arbiter.register.scanGrant(row, ceiling, 1)
			return err
		})
	// Closing is what ends the transaction: without its nil nothing is granted.
	if err := arbiter.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return quota.Grant{}, fmt.Errorf("reserve quota once: %w", err)
	}
	return grant, nil
}

// SpendOnce implements [quota.Arbiter].
func (arbiter *Arbiter) SpendOnce(ctx context.Context, key string) error {
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	if _, err := arbiter.pool.Exec(ctx, spendOnceSQL, key); err != nil {
		return fmt.Errorf("spend quota reservation: %w", err)
	}
	return nil
}

// PruneOnce forgets at most limit reservations of windows that are over, which
// nobody can use any more, and returns how many.
func (arbiter *Arbiter) PruneOnce(ctx context.Context, limit int) (int, error) {
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	tag, err := arbiter.pool.Exec(ctx, pruneOnceSQL, arbiter.register.options.Window, max(0, limit))
	if err != nil {
		return 0, fmt.Errorf("prune quota reservations: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// Charge implements [quota.Arbiter].
func (arbiter *Arbiter) Charge(ctx context.Context, windowStart time.Time, emissions int) error {
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	defer arbiter.combiner.full.forget()
	return arbiter.register.Charge(ctx, arbiter.pool, windowStart, emissions)
}

// Hold implements [quota.Arbiter]; the bound is [Options.HoldMax].
func (arbiter *Arbiter) Hold(ctx context.Context, until time.Time) error {
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	defer arbiter.combiner.full.forget()
	return arbiter.register.Hold(ctx, arbiter.pool, until)
}

// Usage implements [quota.Arbiter].
func (arbiter *Arbiter) Usage(ctx context.Context) (quota.Usage, error) {
	ctx, cancel := arbiter.bounded(ctx)
	defer cancel()
	return arbiter.register.Usage(ctx, arbiter.pool)
}

func (arbiter *Arbiter) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, arbiter.register.options.Timeout)
}
