package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/migrations"
)

// startTimeout bounds starting the server and migrating the template; the
// programs may have to be fetched first.
const startTimeout = 5 * time.Minute

// current is the binary's one server. It is the package's only state: TestMain
// and the tests have nothing else in common.
var current lazyServer

// lazyServer starts its server when it is first used. Safe for concurrent use.
type lazyServer struct {
	mutex   sync.Mutex
	opened  bool
	started bool
	server  *server
	err     error
}

func (lazy *lazyServer) open() {
	lazy.mutex.Lock()
	defer lazy.mutex.Unlock()
	lazy.opened = true
}

// use starts the server, once; a failure is everybody's.
func (lazy *lazyServer) use() (*server, error) {
	lazy.mutex.Lock()
	defer lazy.mutex.Unlock()
	if !lazy.opened {
		return nil, errors.New("nobody would stop the server: " +
			"add `func TestMain(m *testing.M) { dbtest.Main(m) }` to the package")
	}
	if !lazy.started {
		lazy.started = true
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		lazy.server, lazy.err = startServer(ctx)
	}
	return lazy.server, lazy.err
}

func (lazy *lazyServer) close() error {
	lazy.mutex.Lock()
	defer lazy.mutex.Unlock()
	lazy.opened = false
	if lazy.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	err := lazy.server.stop(ctx)
	lazy.server = nil
	return err
}

// server creates and drops databases on one Postgres.
type server struct {
	url string
	// postgres is ours to stop; nil when DATABASE_URL named the server.
	postgres *devstack.Postgres
	admin    *pgxpool.Pool
	// prefix starts the name of every database of this binary.
	prefix string
}

func startServer(ctx context.Context) (*server, error) {
	started := &server{
		url:    os.Getenv("DATABASE_URL"),
		prefix: "adjourn_test_" + strings.ToLower(rand.Text()[:8]) + "_",
	}
	if started.url == "" {
		postgres, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{
			Disposable: true,
			Progress:   os.Stderr,
		})
		if err != nil {
			return nil, err
		}
		started.postgres, started.url = postgres, postgres.URL
	}
	if err := started.prepare(ctx); err != nil {
		return nil, errors.Join(err, started.stop(ctx))
	}
	return started, nil
}

// prepare migrates the template that every test's database is cloned from.
func (server *server) prepare(ctx context.Context) error {
	admin, err := pgxpool.New(ctx, server.url)
	if err != nil {
		return fmt.Errorf("open a pool on the server: %w", err)
	}
	server.admin = admin
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+identifier(server.template())); err != nil {
		return fmt.Errorf("create the template database: %w", err)
	}
	if err := migrate(ctx, server.address(server.template())); err != nil {
		return fmt.Errorf("migrate the template database: %w", err)
	}
	// A template with a connection on it cannot be cloned.
	if _, err := admin.Exec(ctx,
		"ALTER DATABASE "+identifier(server.template())+" WITH ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("close the template database: %w", err)
	}
	return nil
}

func migrate(ctx context.Context, address string) (err error) {
	connection, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(ctx)) }()
	_, err = migrations.Up(ctx, connection)
	return err
}

func (server *server) template() string { return server.prefix + "template" }

// kept tells whether a database outlives this binary.
func (server *server) kept() bool { return server.postgres == nil }

// create makes one database and returns its name.
func (server *server) create(ctx context.Context, migrated bool) (string, error) {
	name := server.prefix + strings.ToLower(rand.Text()[:12])
	template := "template0"
	if migrated {
		template = server.template()
	}
	_, err := server.admin.Exec(ctx, "CREATE DATABASE "+identifier(name)+" TEMPLATE "+identifier(template))
	if err != nil {
		return "", fmt.Errorf("create a database for the test: %w", err)
	}
	return name, nil
}

// drop cuts what is still connected: a test of a killed process leaves sessions.
func (server *server) drop(ctx context.Context, name string) error {
	_, err := server.admin.Exec(ctx, "DROP DATABASE "+identifier(name)+" WITH (FORCE)")
	if err != nil {
		return fmt.Errorf("drop the test's database: %w", err)
	}
	return nil
}

// stop drops the template where the server lives on, or ends the server.
func (server *server) stop(ctx context.Context) error {
	var dropErr, stopErr error
	if server.admin != nil {
		if server.postgres == nil {
			_, dropErr = server.admin.Exec(ctx,
				"DROP DATABASE IF EXISTS "+identifier(server.template())+" WITH (FORCE)")
		}
		server.admin.Close()
	}
	if server.postgres != nil {
		stopErr = server.postgres.Stop(ctx)
	}
	return errors.Join(dropErr, stopErr)
}

// address is the server's URL with another database in it, in whichever of the
// two forms it was given.
func (server *server) address(database string) string {
	parsed, err := url.Parse(server.url)
	if err != nil || parsed.Scheme == "" {
		return server.url + " dbname=" + database // the last setting of a name counts
	}
	parsed.Path = "/" + database
	return parsed.String()
}

func identifier(name string) string { return pgx.Identifier{name}.Sanitize() }
