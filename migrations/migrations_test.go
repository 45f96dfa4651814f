package migrations_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/migrations"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

// TestUp installs everything once, and a repeat nothing.
func TestUp(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.EmptyURL(t))
	all, err := migrations.All()
	require.NoError(t, err)
	pending, err := migrations.Status(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, all, pending)

	applied, err := migrations.Up(t.Context(), conn)
	require.NoError(t, err)
	require.Len(t, applied, len(all))
	for _, step := range applied {
		require.False(t, step.AppliedAt.IsZero())
	}
	again, err := migrations.Up(t.Context(), conn)
	require.NoError(t, err)
	require.Empty(t, again)
}

// TestUpAtOnce: any number of processes may start together; each step runs once.
func TestUpAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	applied := make([]int, 8)
	var group errgroup.Group
	for process := range applied {
		group.Go(func() error {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				return err
			}
			steps, err := migrations.Up(t.Context(), conn)
			applied[process] = len(steps)
			return errors.Join(err, conn.Close(context.Background()))
		})
	}
	require.NoError(t, group.Wait())
	all, err := migrations.All()
	require.NoError(t, err)
	total := 0
	for _, steps := range applied {
		total += steps
	}
	require.Equal(t, len(all), total)
}

// TestCheck accepts exactly this program's schema, and says what to do about any
// other.
func TestCheck(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.EmptyURL(t))
	all, err := migrations.All()
	require.NoError(t, err)

	var mismatch *migrations.SchemaError
	require.ErrorAs(t, migrations.Check(t.Context(), conn), &mismatch)
	require.Equal(t, migrations.SchemaError{Have: 0, Want: len(all)}, *mismatch)
	require.ErrorContains(t, mismatch, "run `adjourn migrate up`")

	_, err = migrations.Up(t.Context(), conn)
	require.NoError(t, err)
	require.NoError(t, migrations.Check(t.Context(), conn))

	_, err = conn.Exec(t.Context(),
		"INSERT INTO adjourn.migration (version, name) VALUES ($1, 'of_the_future')", len(all)+1)
	require.NoError(t, err)
	require.ErrorAs(t, migrations.Check(t.Context(), conn), &mismatch)
	require.Equal(t, len(all)+1, mismatch.Have)
	require.ErrorContains(t, mismatch, "run a newer adjourn")
	_, err = migrations.Up(t.Context(), conn)
	require.ErrorAs(t, err, &mismatch)
}

// TestQuotaWindowTable: a window is there once and never unnamed, and its count
// starts at zero (A11, A12).
func TestQuotaWindowTable(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	insert := func(statement string) string {
		_, err := pool.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			return refused.Code
		}
		require.NoError(t, err)
		return ""
	}
	require.Equal(t, "23502", insert("INSERT INTO adjourn.quota_window (window_start, count) VALUES (NULL, 1)"))
	require.Empty(t, insert("INSERT INTO adjourn.quota_window (window_start) VALUES ('2026-12-01T10:00:00Z')"))
	require.Equal(t, "23505", insert("INSERT INTO adjourn.quota_window (window_start) VALUES ('2026-12-01T10:00:00Z')"))
	var count int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count FROM adjourn.quota_window").Scan(&count))
	require.Zero(t, count)
}
