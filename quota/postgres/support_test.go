package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
)

const (
	// patience bounds every wait of these tests for another session.
	patience = time.Minute
	// steadyFor is what a test may take before its window ends.
	steadyFor = 30 * time.Second
)

// hourly options of tests that do not care.
func hourly() Options { return Options{Window: time.Hour} }

// daily windows do not end during a test, but for the seconds before midnight in
// which newSteady waits.
func daily() Options { return Options{Window: quota.Day} }

// newSteady makes a database whose daily window does not end during the test.
func newSteady(t *testing.T) (*pgxpool.Pool, Register) {
	t.Helper()
	pool, register := dbtest.New(t), NewRegister(daily())
	eventually(t, "the day has time left", func() bool {
		usage, err := register.Usage(t.Context(), pool)
		require.NoError(t, err)
		return usage.Window.OpenFor(usage.Now, steadyFor)
	})
	return pool, register
}

// another pool on pool's database, as another process would have one.
func another(t *testing.T, pool *pgxpool.Pool, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config := pool.Config()
	change(config)
	opened, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	return opened
}

// connections sets the size of another pool.
func connections(most int32) func(*pgxpool.Config) {
	return func(config *pgxpool.Config) { config.MaxConns = most }
}

// newArbiter closes with the test, before its pool.
func newArbiter(t *testing.T, pool *pgxpool.Pool, options Options) *Arbiter {
	t.Helper()
	arbiter := NewArbiter(pool, options)
	t.Cleanup(arbiter.Close)
	return arbiter
}

// begin opens a transaction that is rolled back with the test.
func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		// The test's own context is over by now.
		err := tx.Rollback(context.Background())
		if err != nil {
			require.ErrorIs(t, err, pgx.ErrTxClosed)
		}
	})
	return tx
}

func exec(t *testing.T, db Querier, statement string, arguments ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), statement, arguments...)
	require.NoError(t, err)
}

// read scans the one column of the one row of a query.
func read[T any](t *testing.T, db Querier, query string, arguments ...any) T {
	t.Helper()
	rows, err := db.Query(t.Context(), query, arguments...)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}

// backend is the process that serves a transaction.
func backend(t *testing.T, tx pgx.Tx) int32 {
	t.Helper()
	return read[int32](t, tx, "SELECT pg_backend_pid()")
}

// waitForLocks waits until as many sessions of this database wait for a lock.
func waitForLocks(t *testing.T, pool *pgxpool.Pool, sessions int) {
	t.Helper()
	eventually(t, "sessions wait for locks", func() bool {
		return read[int](t, pool, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == sessions
	})
}

// eventually polls condition until it holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.Fail(t, "waited in vain", "%s, for %s", what, patience)
		}
	}
}

// counter counts the statements sent to the database.
type counter struct{ statements atomic.Int64 }

func (counter *counter) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData,
) context.Context {
	counter.statements.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
