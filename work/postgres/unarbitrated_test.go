package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// brokenArbiter is one way in which the arbiter can be in error.
type brokenArbiter struct {
	// breakIt makes it so and returns what undoes it.
	breakIt func(t *testing.T, pass *pass) (mend func())
	// pool changes the arbiter's pool; nil leaves it.
	pool func(*pgxpool.Config)
}

func brokenBy(statements string) brokenArbiter {
	return brokenArbiter{breakIt: func(_ *testing.T, pass *pass) func() {
		pass.exec(statements)
		return func() {}
	}}
}

func brokenArbiters() map[string]brokenArbiter {
	return map[string]brokenArbiter{
		"Dropped":       brokenBy("DROP TABLE adjourn.quota_window"),
		"FiguresGone":   brokenBy("DROP TABLE adjourn.quota_figure"),
		"HoldGone":      brokenBy("DROP TABLE adjourn.quota_hold"),
		"OtherColumns":  brokenBy("ALTER TABLE adjourn.quota_window RENAME COLUMN count TO counted"),
		"NoNumbers":     brokenBy("ALTER TABLE adjourn.quota_window DROP CONSTRAINT quota_window_count_zero_or_positive, ALTER COLUMN count DROP DEFAULT, ALTER COLUMN count TYPE TEXT USING 'many'"),
		"AnotherObject": brokenBy("DROP TABLE adjourn.quota_window; CREATE VIEW adjourn.quota_window AS SELECT now() AS window_start, 0 / (SELECT 0) AS count, 0 AS last_grant"),
		"Locked": {breakIt: func(t *testing.T, pass *pass) func() {
			tx, err := pass.pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "LOCK TABLE adjourn.quota_window, adjourn.quota_figure, adjourn.quota_hold IN ACCESS EXCLUSIVE MODE")
			require.NoError(t, err)
			return func() { require.NoError(t, tx.Rollback(t.Context())) }
		}},
		"OutOfReach": {
			breakIt: func(*testing.T, *pass) func() { return func() {} },
			pool: func(config *pgxpool.Config) {
				config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Fallbacks = "127.0.0.1", 1, nil
			},
		},
	}
}

// TestArbiterInError: however the arbiter is broken, urgent and exempt works go
// as if nothing were, observed works go, enforced ones are deferred and counted
// as such, and nobody gets an error (A45, G2, G6, G8).
func TestArbiterInError(t *testing.T) {
	t.Parallel()
	for name, broken := range brokenArbiters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass := newPass(t, 100)
			urgent, exempt := pass.submit("e", time.Minute), pass.submit("x", time.Hour)
			enforced, observed := pass.submit("e", time.Hour, 0), pass.submit("o", time.Hour, 0)
			before := pass.rows(enforced...)
			windowStart := pass.usage().Window.Start
			admitter, told := pass.admitter(pass.arbiterPool(broken.pool))
			mend := broken.breakIt(t, pass)

			require.Equal(t, urgent, carried(pass.overrides()))
			require.Equal(t, exempt, carried(pass.exempt(10)))
			for repeat := range 2 {
				batch, err := admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 10})
				require.NoError(t, err)
				require.True(t, batch.Unarbitrated)
				require.Empty(t, batch.Granted)
				if repeat == 0 {
					require.Equal(t, observed, carried(batch.Carriages))
					require.Equal(t, windowStart, batch.Carriages[0].SlotStart)
					require.Equal(t, work.Tally{"o": 2}, batch.WouldDefer)
					require.Equal(t, map[string]work.Tally{"arbiter_unavailable": {"e": 2}}, batch.Deferred)
					continue
				}
				require.Equal(t, 2, batch.Chosen)
				require.Empty(t, batch.Carriages)
				require.Empty(t, batch.Deferred, "once per work and window")
			}
			require.NotEmpty(t, told.list(), "told, to be counted and alerted on")
			var arbiterError *ArbiterError
			require.ErrorAs(t, told.list()[0], &arbiterError)
			mend()
			require.Equal(t, before, pass.rows(enforced...))
			require.Equal(t, 2, pass.count(`SELECT count(*) FROM adjourn.work WHERE flow = 'o'
				AND state = 'admitted' AND admission = 'would_defer' AND NOT enforced AND slot_start = $1`, windowStart))
			require.Equal(t, 2, pass.count(
				"SELECT count(*) FROM adjourn.deferral WHERE reason = 'arbiter_unavailable' AND window_start = $1", windowStart))
		})
	}
}

// TestArbiterMendedGoesOn: the next admission after the error is an ordinary one.
func TestArbiterMendedGoesOn(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	enforced := pass.submit("e", time.Hour)
	admitter, told := pass.admitter(pass.arbiterPool(nil))
	mend := brokenArbiters()["Locked"].breakIt(t, pass)
	batch, err := admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 10})
	require.NoError(t, err)
	require.Empty(t, batch.Carriages)
	mend()
	errs := len(told.list())
	batch, err = admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 10})
	require.NoError(t, err)
	require.Equal(t, enforced, carried(batch.Carriages))
	require.Len(t, told.list(), errs)
}

// TestArbiterTooSlow: the row of the window held by somebody, with no time-out on
// the database's side, costs the caller at most half of its time.
func TestArbiterTooSlow(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	pass.submit("e", time.Hour)
	observed := pass.submit("o", time.Hour)
	tx, err := pass.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = pass.register.Reserve(t.Context(), tx, 100, 1)
	require.NoError(t, err)
	admitter, told := pass.admitter(pass.pool)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	batch, err := admitter.Admit(ctx, work.AdmitOptions{Limit: 10, Chunk: 10})
	require.NoError(t, err)
	require.Equal(t, observed, carried(batch.Carriages))
	require.ErrorIs(t, told.list()[0], context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Zero(t, pass.usage().Count, "the admission that was given up left nothing")
}

// TestUnarbitratedIsCountedWhereItCanBe: an arbiter that is in error for the
// admission alone still counts what went without it.
func TestUnarbitratedIsCountedWhereItCanBe(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	pass.submit("e", time.Hour)
	pass.submit("o", time.Hour, 0)
	admitter, told := pass.admitter(pass.pool)
	pass.exec("DROP TABLE adjourn.quota_hold")
	_, err := admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 10})
	require.NoError(t, err)
	require.Len(t, told.list(), 1)
	require.Equal(t, map[string]int64{"o would_defer": 2, "e deferred arbiter_unavailable": 1}, pass.figures())
	require.Equal(t, 2, pass.count("SELECT sum(count)::INTEGER FROM adjourn.quota_window"))
}

// TestUnarbitratedAnswersAskedWorks by ID too, and knows what was admitted before.
func TestUnarbitratedAnswersAskedWorks(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	ids := pass.submit("e", time.Hour, 2*time.Hour)
	pass.admit(pass.asking("job", ids[0]))
	batch, err := pass.store.AdmitUnarbitrated(t.Context(), pass.asking("job", ids...))
	require.NoError(t, err)
	require.Equal(t, ids[:1], carried(batch.Carriages))
	require.Equal(t, []work.Result{
		{ID: ids[1], Outcome: work.OutcomeDeferred, Reason: "arbiter_unavailable"},
	}, batch.Refused)
}

// TestAdmitterReturnsWhatIsNotTheArbitersFault: a policy or works that cannot be
// read, a caller that gave up.
func TestAdmitterReturnsWhatIsNotTheArbitersFault(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	admitter, told := pass.admitter(pass.pool)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := admitter.Admit(ctx, work.AdmitOptions{Limit: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, told.list(), "the arbiter had no part in it")

	admitter.Failed = nil // and telling nobody is possible
	pass.exec("ALTER TABLE adjourn.work RENAME TO elsewhere")
	_, err = admitter.Admit(t.Context(), work.AdmitOptions{Limit: 1})
	require.ErrorContains(t, err, "choose governed works")

	errs := len(told.list())
	noPolicy := errors.New("no policy")
	admitter.Policy = func(context.Context) (quota.Policy, error) { return quota.Policy{}, noPolicy }
	_, err = admitter.Admit(t.Context(), work.AdmitOptions{Limit: 1})
	require.ErrorIs(t, err, noPolicy)
	require.Len(t, told.list(), errs)
}
