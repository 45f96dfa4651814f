package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

const (
	// postgresStartTimeout bounds a start after the programs are there; a slow
	// machine recovering a kept directory needs some of it.
	postgresStartTimeout = 2 * time.Minute
	// fastGrace is how long a fast shutdown, which writes a checkpoint, may take.
	fastGrace = 20 * time.Second
	// immediateGrace is how long the one without a checkpoint may take.
	immediateGrace = 5 * time.Second
	// databaseName is the database that a started server holds for Adjourn.
	databaseName = "adjourn"
)

// PostgresOptions are the choices of [StartPostgres]. The zero value is a
// temporary server with full durability on a free port.
type PostgresOptions struct {
	// Directory keeps the server's data from one start to the next. Empty: a
	// temporary directory, removed by Stop.
	Directory string
	// Port on 127.0.0.1; zero takes a free one.
	Port int
	// Disposable trades durability for speed: nothing is forced to disk, so a
	// crash of the machine (not of the server) may lose everything. For tests.
	Disposable bool
	// Progress is told what takes long: a download, a recovery. Nil drops it.
	Progress io.Writer
	// Log receives the server's own output. Nil drops it.
	Log io.Writer
	// RepositoryURL is where embedded-postgres looks when this machine has no
	// Postgres. Empty: Maven Central.
	RepositoryURL string
}

// Postgres is a running server. Its methods are safe for concurrent use.
type Postgres struct {
	// URL opens the database "adjourn" as a superuser; it holds the password.
	URL string
	// Version is the major version, 15 for one.
	Version int

	server *process
	data   *dataDirectory
}

// StartPostgres starts a server and returns when it takes connections. ctx
// bounds the start only; the caller must call Stop.
//
// The programs are those on PATH, else the newest installed, else a download.
// For root they run as an unprivileged user. The server listens on 127.0.0.1
// alone and asks for a random password: "trust" would make every user of the
// machine a superuser here, and with it able to run programs.
func StartPostgres(ctx context.Context, options PostgresOptions) (started *Postgres, err error) {
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	who, err := postgresAccount()
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	data, err := openDataDirectory(ctx, who, &options)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, data.close())
		}
	}()
	programs, err := findBinaries(ctx, who, &options, data.base)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, postgresStartTimeout)
	defer cancel()
	if err := data.prepare(ctx, programs, &options); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	server, url, err := launch(ctx, programs, data, &options)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return &Postgres{URL: url, Version: programs.major, server: server, data: data}, nil
}

// Exited carries one error if the server ends without Stop, and is closed when
// it has ended.
func (postgres *Postgres) Exited() <-chan error { return postgres.server.exited }

// Stop shuts the server down: connections are cut and a checkpoint is written,
// within bounds that an ended ctx shortens. A temporary directory is removed. It
// may be called again.
func (postgres *Postgres) Stop(ctx context.Context) error {
	err := stopServer(ctx, postgres.server)
	return errors.Join(err, postgres.data.close())
}

func stopServer(ctx context.Context, server *process) error {
	return server.stop(ctx,
		stopStep{signal: syscall.SIGINT, grace: fastGrace},
		stopStep{signal: syscall.SIGQUIT, grace: immediateGrace})
}
