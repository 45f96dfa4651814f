package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

const (
	// admitTimeoutDefault bounds asking the arbiter when [Admitter.Timeout] is zero.
	admitTimeoutDefault = 5 * time.Second
	// countTimeout bounds counting what went without the arbiter: most likely the
	// tables it needs are those that are in error.
	countTimeout = time.Second
)

// Admitter admits governed works with the arbiter or, while that is in error,
// without it. Safe for concurrent use.
type Admitter struct {
	// Store answers while the arbiter is in error, on connections that the
	// arbiter cannot exhaust.
	Store *Store
	// Arbiter admits; its pool is the arbiter's own.
	Arbiter *Store
	// Register of the quota.
	Register quotapostgres.Register
	// Policy in force, asked at each admission.
	Policy func(ctx context.Context) (quota.Policy, error)
	// Margin before a deadline within which a work is left to the override lane.
	Margin time.Duration
	// Timeout of asking the arbiter, the wait for a connection included; zero or
	// less is five seconds. At most half of the caller's own time is used, so that
	// the other half is left to go on without it.
	Timeout time.Duration
	// Failed is told of every error of the arbiter, to count and to alert on. It
	// must not block; nil tells nobody.
	Failed func(error)
}

var _ work.Admitter = (*Admitter)(nil)

// Admit implements [work.Admitter]. An arbiter in error, too slow or out of reach
// is told to Failed and is no error: enforced works are deferred then and
// observed ones go (G8). What is an error: the policy that cannot be read, the
// works that cannot be read, a caller that gave up.
func (admitter *Admitter) Admit(
	ctx context.Context, options work.AdmitOptions,
) (work.AdmissionBatch, error) {
	policy, err := admitter.Policy(ctx)
	if err != nil {
		return work.AdmissionBatch{}, fmt.Errorf("read the policy: %w", err)
	}
	all := AdmitOptions{
		AdmitOptions: options, Policy: policy, Register: admitter.Register, Margin: admitter.Margin,
	}
	batch, err := admitter.ask(ctx, all)
	if err == nil {
		return batch, nil
	}
	if ctx.Err() != nil && len(batch.Carriages) == 0 {
		return work.AdmissionBatch{}, ctx.Err() // the caller gave up, not the arbiter
	}
	admitter.failed(err)
	if len(batch.Carriages) > 0 {
		return batch, nil // admitted; only the record of the refused ones is missing
	}
	batch, windowStart, err := admitter.Store.admitUnarbitrated(ctx, all)
	if err != nil && len(batch.Carriages) > 0 {
		admitter.failed(err)
		err = nil
	}
	batch.Unarbitrated = true
	admitter.count(ctx, batch, windowStart)
	return batch, err
}

// ask asks the arbiter within its time.
func (admitter *Admitter) ask(ctx context.Context, options AdmitOptions) (work.AdmissionBatch, error) {
	timeout := admitter.Timeout
	if timeout <= 0 {
		timeout = admitTimeoutDefault
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return admitter.Arbiter.Admit(ctx, options)
}

func (admitter *Admitter) failed(err error) {
	if admitter.Failed != nil {
		admitter.Failed(err)
	}
}

// count counts what the batch says was decided without the arbiter, as far as the
// quota's tables can be reached. Nothing waits for it longer than countTimeout,
// and it runs on the arbiter's connections.
func (admitter *Admitter) count(
	ctx context.Context, batch work.AdmissionBatch, windowStart time.Time,
) {
	figures := unarbitratedFigures(batch, windowStart)
	if len(figures) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, admitter.Arbiter.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted},
		func(tx pgx.Tx) error {
			wouldDefer := batch.WouldDefer.Total()
			if err := admitter.Register.Charge(ctx, tx, windowStart, wouldDefer); err != nil {
				return err
			}
			return admitter.Register.AddFigures(ctx, tx, figures)
		})
	if err != nil {
		admitter.failed(&ArbiterError{Err: fmt.Errorf("count works admitted without it: %w", err)})
	}
}

// unarbitratedFigures are the figures of a batch decided without the arbiter.
func unarbitratedFigures(batch work.AdmissionBatch, windowStart time.Time) []quotapostgres.Figure {
	var figures []quotapostgres.Figure
	add := func(tally work.Tally, decision, reason string) {
		for flow, count := range tally {
			figures = append(figures, quotapostgres.Figure{
				WindowStart: windowStart, Flow: flow,
				Decision: decision, Reason: reason, Count: int64(count),
			})
		}
	}
	add(batch.WouldDefer, quotapostgres.DecisionWouldDefer, "")
	for reason, tally := range batch.Deferred {
		add(tally, quotapostgres.DecisionDeferred, reason)
	}
	return figures
}
