package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

const (
	lockTimeout      = 200 * time.Millisecond
	statementTimeout = 2 * time.Second
)

// configured is a pool as an arbiter should have it.
func configured(t *testing.T, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	return another(t, pool, func(config *pgxpool.Config) {
		ConfigurePool(config, lockTimeout, statementTimeout)
	})
}

// requireCode asserts that err is Postgres's own, of the given code: an error, not
// a refusal.
func requireCode(t *testing.T, code string, err error) {
	t.Helper()
	var postgres *pgconn.PgError
	require.True(t, errors.As(err, &postgres), "want a Postgres error, got: %v", err)
	require.Equal(t, code, postgres.Code, postgres.Message)
}

// TestBrokenRegisterIsAnErrorNotARefusal: dropped, revoked or locked, the arbiter
// says that it cannot be asked, within its bounds, and answers again once healed
// (A45, G8).
func TestBrokenRegisterIsAnErrorNotARefusal(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, breaks, heals, code string
	}{
		{
			"dropped", "ALTER TABLE adjourn.quota_window RENAME TO gone",
			"ALTER TABLE adjourn.gone RENAME TO quota_window", "42P01",
		},
		{
			"hold dropped", "ALTER TABLE adjourn.quota_hold RENAME TO gone",
			"ALTER TABLE adjourn.gone RENAME TO quota_hold", "42P01",
		},
		{
			"misshapen", "ALTER TABLE adjourn.quota_window RENAME COLUMN last_grant TO gone",
			"ALTER TABLE adjourn.quota_window RENAME COLUMN gone TO last_grant", "42703",
		},
		{
			"read only", "ALTER DATABASE CURRENT SET default_transaction_read_only = on",
			"ALTER DATABASE CURRENT RESET default_transaction_read_only", "25006",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool, _ := newSteady(t)
			own := configured(t, pool)
			arbiter := newArbiter(t, own, daily())
			name := pgx.Identifier{pool.Config().ConnConfig.Database}.Sanitize()
			change := func(statement string) {
				exec(t, pool, strings.Replace(statement, "CURRENT", name, 1))
				own.Reset() // settings of a database apply to new sessions
			}
			grant, err := arbiter.Reserve(t.Context(), 10, 1)
			require.NoError(t, err)
			require.Equal(t, 1, grant.Slots)
			change(c.breaks)
			for range 3 {
				grant, err = arbiter.Reserve(t.Context(), 10, 1)
				requireCode(t, c.code, err)
				require.Zero(t, grant)
				_, err = arbiter.ReserveOnce(t.Context(), 10, "a")
				requireCode(t, c.code, err)
			}
			change(c.heals)
			grant, err = arbiter.Reserve(t.Context(), 10, 1)
			require.NoError(t, err)
			require.Equal(t, 2, grant.Count)
		})
	}
}

// TestLockedRegisterIsAnErrorInTime: a table lock held by somebody else ends every
// call within the lock's time-out (A45).
func TestLockedRegisterIsAnErrorInTime(t *testing.T) {
	t.Parallel()
	const lockNotAvailable = "55P03"
	pool, _ := newSteady(t)
	own := configured(t, pool)
	arbiter := newArbiter(t, own, daily())
	tx := begin(t, pool)
	exec(t, tx, `LOCK TABLE adjourn.quota_window, adjourn.quota_hold, adjourn.quota_reservation,
		adjourn.quota_cadence IN ACCESS EXCLUSIVE MODE`)
	begun := time.Now()
	_, err := arbiter.Reserve(t.Context(), 10, 1)
	requireCode(t, lockNotAvailable, err)
	_, err = arbiter.ReserveOnce(t.Context(), 10, "a")
	requireCode(t, lockNotAvailable, err)
	_, err = arbiter.Usage(t.Context())
	requireCode(t, lockNotAvailable, err)
	requireCode(t, lockNotAvailable, arbiter.SpendOnce(t.Context(), "a"))
	requireCode(t, lockNotAvailable, arbiter.Charge(t.Context(), begun, 1))
	requireCode(t, lockNotAvailable, arbiter.Hold(t.Context(), begun.Add(time.Hour)))
	cadence := NewCadence(own, daily(), quota.CadenceRate{PerSecond: 1, Burst: 1})
	_, err = cadence.Schedule(t.Context(), 1)
	requireCode(t, lockNotAvailable, err)
	require.Less(t, time.Since(begun), patience, "a bound on liveness, not on speed")
	require.NoError(t, tx.Rollback(t.Context()))
	grant, err := arbiter.Reserve(t.Context(), 10, 1)
	require.NoError(t, err)
	require.Equal(t, 1, grant.Count, "nothing was taken meanwhile")
}

// TestNonsenseInTheRegisterNeverExceeds: whatever the row holds, no grant goes
// beyond the ceiling (G1).
func TestNonsenseInTheRegisterNeverExceeds(t *testing.T) {
	t.Parallel()
	const checkViolation, notNullViolation, outOfRange = "23514", "23502", "22003"
	pool, register := newSteady(t)
	_, err := register.Reserve(t.Context(), pool, 10, 4)
	require.NoError(t, err)
	for value, code := range map[string]string{
		"-1": checkViolation, "-2147483648": checkViolation, "NULL": notNullViolation, "2147483648": outOfRange,
	} {
		_, err := pool.Exec(t.Context(), "UPDATE adjourn.quota_window SET count = "+value)
		requireCode(t, code, err)
	}
	exec(t, pool, "UPDATE adjourn.quota_window SET count = 2147483647, last_grant = 2147483647")
	for _, ceiling := range []int32{1, 10, 2147483647} {
		grant, err := register.Reserve(t.Context(), pool, ceiling, 1)
		require.NoError(t, err)
		require.Zero(t, grant.Slots)
	}
	exec(t, pool, "UPDATE adjourn.quota_window SET count = 9, last_grant = 2147483647")
	grant, err := register.Reserve(t.Context(), pool, 10, 5)
	require.NoError(t, err)
	require.Equal(t, 1, grant.Slots, "an old last_grant is not an answer")

	exec(t, pool, "ALTER TABLE adjourn.quota_window DROP CONSTRAINT quota_window_count_zero_or_positive")
	exec(t, pool, "UPDATE adjourn.quota_window SET count = -2147483648")
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.Zero(t, usage.Count)
	granted := 0
	for range 5 {
		grant, err := register.Reserve(t.Context(), pool, 10, 4)
		require.NoError(t, err)
		granted += grant.Slots
	}
	require.Equal(t, 10, granted)
	exec(t, pool, "UPDATE adjourn.quota_window SET count = -7")
	require.NoError(t, register.Charge(t.Context(), pool, usage.Window.Start, 3))
	usage, err = register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, 3, usage.Count)
}

// TestConfigurePoolSetsItsConnections reads back what the sessions run with.
func TestConfigurePoolSetsItsConnections(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	exec(t, pool, "ALTER DATABASE "+pgx.Identifier{pool.Config().ConnConfig.Database}.Sanitize()+
		" SET synchronous_commit = off")
	own := configured(t, pool)
	for setting, want := range map[string]string{
		"application_name":                    ApplicationName,
		"lock_timeout":                        "200ms",
		"statement_timeout":                   "2s",
		"idle_in_transaction_session_timeout": "2s",
		"default_transaction_isolation":       "read committed",
		"synchronous_commit":                  "on",
	} {
		require.Equal(t, want, read[string](t, own, "SELECT current_setting($1)", setting), setting)
	}
	require.Equal(t, "1", milliseconds(time.Nanosecond), "rounded up: 0 would wait for ever")
	require.Equal(t, "0", milliseconds(-time.Second))
}

// TestGrantLocksOneRow: beside the row, a grant holds only the locks that every
// writer of a table holds, which shut nobody out.
func TestGrantLocksOneRow(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	_, err := register.Reserve(t.Context(), pool, 10, 1)
	require.NoError(t, err)
	require.NoError(t, register.Charge(t.Context(), pool, time.Unix(0, 0), 1))
	tx := begin(t, pool)
	grant, err := register.Reserve(t.Context(), tx, 10, 1)
	require.NoError(t, err)

	rows, err := pool.Query(t.Context(), `
		SELECT c.relname || ' ' || l.mode
		  FROM pg_locks AS l
		  JOIN pg_class AS c ON c.oid = l.relation
		 WHERE l.pid = $1 AND c.relnamespace = 'adjourn'::REGNAMESPACE AND l.mode <> 'AccessShareLock'
		 ORDER BY 1`, backend(t, tx))
	require.NoError(t, err)
	locks, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"quota_window RowExclusiveLock", "quota_window_pkey RowExclusiveLock",
	}, locks)

	free := read[[]time.Time](t, pool, `SELECT array_agg(window_start) FROM (
		SELECT window_start FROM adjourn.quota_window FOR UPDATE SKIP LOCKED) AS free`)
	require.Len(t, free, 1, "the other window's row is free")
	require.True(t, free[0].Equal(time.Unix(0, 0)))
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, grant.Count-1, usage.Count, "readers are not shut out")
}

// TestRolledBackReservationGivesItsSlotsBack: admission reserves in the transaction
// that marks the works; undone, neither remains.
func TestRolledBackReservationGivesItsSlotsBack(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	tx := begin(t, pool)
	_, err := register.Reserve(t.Context(), tx, 10, 7)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	grant, err := register.Reserve(t.Context(), pool, 10, 10)
	require.NoError(t, err)
	require.Equal(t, 10, grant.Slots)
}
