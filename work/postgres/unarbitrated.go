package postgres

import (
	"context"
	_ "embed" // present_window.sql
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

//go:embed present_window.sql
var presentWindowSQL string

// AdmitUnarbitrated is what becomes of governed works while the arbiter is in
// error (G8): enforced ones are deferred, because nobody can say that there is
// room, and observed ones go, because observing changes nothing. It names no
// table of the quota; what it admits is counted by its caller, if at all. An error
// that comes with carriages came after the commit, as in [Store.Admit].
func (store *Store) AdmitUnarbitrated(
	ctx context.Context, options AdmitOptions,
) (work.AdmissionBatch, error) {
	batch, _, err := store.admitUnarbitrated(ctx, options)
	return batch, err
}

// admitUnarbitrated tells in addition which window it was.
func (store *Store) admitUnarbitrated(
	ctx context.Context, options AdmitOptions,
) (batch work.AdmissionBatch, windowStart time.Time, err error) {
	var now time.Time
	err = store.pool.QueryRow(ctx, presentWindowSQL, options.Register.Window()).Scan(&now, &windowStart)
	if err != nil {
		return batch, windowStart, fmt.Errorf("read the present window: %w", err)
	}
	windowStart = windowStart.UTC()
	works, err := store.find(ctx, options)
	if err != nil {
		return batch, windowStart, err
	}
	mayGo, refused := consider(works.candidates, 0, options.limit(), false)
	going, carriages, err := store.markUnarbitrated(ctx, options, mayGo, windowStart, now)
	if err != nil {
		return batch, windowStart, err
	}
	why := deferral{windowStart: windowStart, reason: quota.ReasonArbiterUnavailable}
	batch = newBatch(works)
	batch.Chosen = len(mayGo) + len(refused)
	batch.WouldDefer = tallyOf(going, work.WouldDefer)
	batch.Carriages = append(batch.Carriages, carriages...)
	if len(options.IDs) > 0 {
		batch.Refused = append(batch.Refused, why.results(refused)...)
	}
	batch.Deferred, err = store.recordDeferrals(ctx, deferUnarbitratedSQL, refused, why)
	return batch, windowStart, err
}

// markUnarbitrated marks observed works admitted without a slot.
func (store *Store) markUnarbitrated(
	ctx context.Context, options AdmitOptions, mayGo []candidate, windowStart, now time.Time,
) (going []admitted, carriages []work.Carriage, err error) {
	if len(mayGo) == 0 {
		return nil, nil, nil
	}
	tx, err := store.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, nil, fmt.Errorf("begin the admission: %w", err)
	}
	defer rollBack(ctx, tx)
	locked, err := lockCandidates(ctx, tx, mayGo)
	if err != nil || len(locked) == 0 {
		return nil, nil, err
	}
	for _, observed := range locked {
		going = append(going, admitted{observed, work.WouldDefer})
	}
	carriages = carriagesOf(going, windowStart, options)
	if err := mark(ctx, tx, going, carriages, now); err != nil {
		return nil, nil, err
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, nil, fmt.Errorf("commit the admission: %w", err)
	}
	return going, carriages, nil
}
