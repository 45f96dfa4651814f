package dbtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/migrations"
)

func TestMain(m *testing.M) { Main(m) }

// TestNewIsMigratedAndAlone: the schema is there, and what one test writes
// another does not see.
func TestNewIsMigratedAndAlone(t *testing.T) {
	t.Parallel()
	first, second := New(t), New(t)
	for _, pool := range []*pgxpool.Pool{first, second} {
		require.NoError(t, migrations.Check(t.Context(), pool))
	}
	_, err := first.Exec(t.Context(), "CREATE TABLE mine (id INTEGER)")
	require.NoError(t, err)
	var there bool
	require.NoError(t, second.QueryRow(t.Context(), "SELECT to_regclass('mine') IS NOT NULL").Scan(&there))
	require.False(t, there)
}

// TestEmptyURLHasNoSchema.
func TestEmptyURLHasNoSchema(t *testing.T) {
	t.Parallel()
	connection, err := pgx.Connect(t.Context(), EmptyURL(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(t.Context())) }()
	var there bool
	require.NoError(t, connection.QueryRow(t.Context(),
		"SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'adjourn')").Scan(&there))
	require.False(t, there)
}

// TestDatabaseIsDroppedWithItsTest, even while something is connected to it.
func TestDatabaseIsDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	var name string
	var left *pgx.Conn
	t.Run("inner", func(t *testing.T) {
		address := URL(t)
		config, err := pgx.ParseConfig(address)
		require.NoError(t, err)
		name = config.Database
		left, err = pgx.Connect(t.Context(), address)
		require.NoError(t, err)
	})
	server, err := current.use()
	require.NoError(t, err)
	var there bool
	require.NoError(t, server.admin.QueryRow(t.Context(),
		"SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there))
	require.False(t, there)
	require.Error(t, left.Ping(t.Context()), "a connection left over must be cut")
}

// failing is a test that fails without failing the one around it.
type failing struct {
	testing.TB
	failed   bool
	cleanups []func()
	logged   []string
}

func (f *failing) Failed() bool              { return f.failed }
func (f *failing) Cleanup(cleanup func())    { f.cleanups = append(f.cleanups, cleanup) }
func (f *failing) Logf(_ string, all ...any) { f.logged = append(f.logged, all[0].(string)) }
func (f *failing) Errorf(string, ...any)     { f.failed = true }
func (f *failing) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

// TestDatabaseOfAFailureIsKept where the server outlives the binary, and its
// address is logged.
func TestDatabaseOfAFailureIsKept(t *testing.T) {
	server, err := current.use()
	require.NoError(t, err)
	owned := server.postgres
	server.postgres = nil // as with DATABASE_URL
	defer func() { server.postgres = owned }()
	inner := &failing{TB: t, failed: true}
	address := URL(inner)
	inner.end()
	require.Equal(t, []string{address}, inner.logged)
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	require.NoError(t, server.drop(t.Context(), config.Database))
}

// TestConnectionHeldFailsTheTest instead of hanging it.
func TestConnectionHeldFailsTheTest(t *testing.T) {
	t.Parallel()
	pool := New(t)
	held, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	inner := &failing{TB: t}
	closePool(inner, pool, time.Millisecond)
	require.True(t, inner.failed)
	held.Release()
}

// TestWithoutMain says what to add.
func TestWithoutMain(t *testing.T) {
	t.Parallel()
	var closed lazyServer
	_, err := closed.use()
	require.ErrorContains(t, err, "dbtest.Main(m)")
}

// TestAddress keeps both forms of a connection string.
func TestAddress(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://u:p@h:5/old?sslmode=disable": "postgres://u:p@h:5/new?sslmode=disable",
		"host=h dbname=old":                      "host=h dbname=old dbname=new",
	} {
		address := (&server{url: given}).address("new")
		require.Equal(t, want, address)
		config, err := pgx.ParseConfig(address)
		require.NoError(t, err)
		require.Equal(t, "new", config.Database)
	}
}
