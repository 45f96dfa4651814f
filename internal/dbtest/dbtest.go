// Package dbtest gives each test a database of its own on a real Postgres, with
// Adjourn's schema in it.
//
// A test package calls [Main] from its TestMain and [New], [URL] or [EmptyURL]
// from its tests:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
// The first database that a test binary asks for starts a server, migrates a
// template once, and every test clones that; the server ends with the binary. A
// server for each binary costs about a second and shares nothing: no lock, no
// register and no clean-up between binaries that run at once. With DATABASE_URL
// set, that server is used instead; its user must be allowed to create databases.
//
// A database is dropped when its test passes. When it fails, the database is
// kept and its URL logged, provided that the server is yours to keep.
package dbtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
)

const (
	// poolSize of [New]: wide enough for real concurrency, and several of them fit
	// into the server's two hundred connections.
	poolSize = 16
	// stepTimeout bounds creating or dropping one database.
	stepTimeout = time.Minute
	// closeTimeout is how long a test's connections may take to come back.
	closeTimeout = 10 * time.Second
)

// Main runs the tests, ends the server, and fails the binary when goroutines are
// left over. It does not return.
func Main(m *testing.M) {
	current.open()
	code := m.Run()
	if err := current.close(); err != nil {
		fmt.Fprintf(os.Stderr, "dbtest: %v\n", err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintf(os.Stderr, "dbtest: after the tests: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// New gives the test a database with Adjourn's schema and a pool of sixteen
// connections on it, closed at the test's end. It fails the test when it cannot,
// and when the test does not give its connections back.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(URL(t))
	if err != nil {
		t.Fatalf("parse the test database's URL: %v", err)
	}
	config.MaxConns = poolSize
	// Not the test's context: clean-ups that run after its end use the pool too.
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("open a pool on the test database: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool, closeTimeout) })
	return pool
}

// URL gives the test a database with Adjourn's schema and returns its address,
// for what opens its own connections. They must be closed before the test's
// clean-ups run; what is left is cut.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, true)
}

// EmptyURL is [URL] without the schema: for tests of the migrations.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return database(t, false)
}

func database(t testing.TB, migrated bool) string {
	t.Helper()
	server, err := current.use()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	name, err := server.create(ctx, migrated)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	address := server.address(name)
	t.Cleanup(func() {
		if t.Failed() && server.kept() {
			t.Logf("the database is kept for a look: %s", address)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		if err := server.drop(ctx, name); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return address
}

// closePool waits for the test's connections, within a bound: a test that holds
// on to one fails instead of hanging.
func closePool(t testing.TB, pool *pgxpool.Pool, limit time.Duration) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
		t.Errorf("the test ended with %d connections of its pool in use", pool.Stat().AcquiredConns())
	}
}
