// Package playground runs the whole platform on one machine: the embedded stack,
// the schema, the set-up, and workers in this process. It serves `adjourn dev`,
// `adjourn demo` and the end-to-end tests.
package playground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/migrations"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// Options are the choices of [Start].
type Options struct {
	// Config is the platform's; the addresses of database and third party are
	// filled in unless it names a database.
	Config config.Config
	// OwnDatabase makes a database of its own on the server that the configuration
	// names, dropped by Stop. A server that is started has one anyway.
	OwnDatabase bool
	// TemporalAddress names a frontend to use instead of starting one.
	TemporalAddress string
	// PostgresDirectory keeps the database from one start to the next; empty is a
	// temporary one.
	PostgresDirectory string
	// Disposable trades the database's durability for speed; for tests.
	Disposable bool
	// ThirdPartyLog receives every arrival as a line of JSON; empty is no file.
	ThirdPartyLog string
	// Progress is told what takes long.
	Progress io.Writer
	// Logger of the platform's parts.
	Logger *zap.Logger
}

// Playground is a running stack with an installed platform and no worker yet.
// Its methods are safe for concurrent use.
type Playground struct {
	// Config with the addresses of the stack's parts.
	Config config.Config
	// Stack of Postgres, Temporal and the third party.
	Stack *devstack.Stack
	// Temporal client and Pool on the database, for questions from outside.
	Temporal client.Client
	Pool     *pgxpool.Pool
	// Works and Quota are read and written through Pool.
	Works *workpostgres.Store
	Quota quotapostgres.Register

	logger *zap.Logger
	// drop removes the playground's own database; nil without one.
	drop func(context.Context) error
}

// Bounds of starting and stopping, where the parts have none of their own.
const (
	migrateTimeout = 2 * time.Minute
	dialTimeout    = 30 * time.Second
)

// Start starts the stack, brings the schema up and sets the platform up. ctx
// bounds the start and, ending later, the stack. The caller must call Stop.
func Start(ctx context.Context, options Options) (started *Playground, err error) {
	playground := &Playground{Config: options.Config, logger: options.Logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, playground.Stop(context.WithoutCancel(ctx)))
		}
	}()
	address := options.Config.Database.URL.Reveal()
	if options.OwnDatabase && address != "" {
		if address, playground.drop, err = ownDatabase(ctx, address); err != nil {
			return nil, err
		}
	}
	stack, err := devstack.Start(ctx, devstack.Options{
		DatabaseURL: address,
		Postgres: devstack.PostgresOptions{
			Directory: options.PostgresDirectory, Disposable: options.Disposable, Progress: options.Progress,
		},
		TemporalAddress: options.TemporalAddress,
		Temporal:        devstack.TemporalOptions{Progress: options.Progress},
		ThirdParty:      thirdparty.Options{LogFile: options.ThirdPartyLog},
	})
	if err != nil {
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	playground.Stack = stack
	playground.Config.Database.URL = config.NewURL(stack.DatabaseURL)
	playground.Config.Emitter.URL = config.NewURL(stack.ThirdParty.URL)
	if err := playground.install(ctx); err != nil {
		return nil, err
	}
	return playground, nil
}

func (playground *Playground) install(ctx context.Context) error {
	if err := migrate(ctx, playground.Stack.DatabaseURL); err != nil {
		return err
	}
	pool, err := app.OpenDatabase(ctx, playground.Stack.DatabaseURL)
	if err != nil {
		return err
	}
	playground.Pool, playground.Works = pool, workpostgres.New(pool)
	playground.Quota = quotapostgres.NewRegister(app.QuotaOptions(playground.Config))
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	playground.Temporal, err = app.DialTemporal(dialCtx, playground.temporalOptions())
	if err != nil {
		return err
	}
	return playground.setUp(ctx, playground.Config)
}

func (playground *Playground) setUp(ctx context.Context, cfg config.Config) error {
	steps := app.Setup(ctx, playground.Pool, playground.Temporal, app.SetupOptions{
		PayloadBytesMax: cfg.Works.PayloadBytesMax, Window: cfg.Quota.Window,
		Namespace: client.DefaultNamespace,
		Schedule:  app.Schedule(cfg),
	})
	var errs []error
	for _, step := range steps {
		if step.Result == app.Failed {
			errs = append(errs, fmt.Errorf("set up %s: %w", step.Name, step.Err))
		}
	}
	return errors.Join(errs...)
}

func migrate(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return app.ExplainDatabase(fmt.Errorf("connect to migrate: %w", err))
	}
	_, err = migrations.Up(ctx, conn)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func (playground *Playground) temporalOptions() client.Options {
	return client.Options{
		HostPort:  playground.Stack.TemporalAddress,
		Namespace: client.DefaultNamespace,
		Logger:    telemetry.TemporalLogger(playground.logger),
	}
}

// Dependencies are what a worker or server of this playground is given.
func (playground *Playground) Dependencies() app.Dependencies {
	return app.Dependencies{Logger: playground.logger, Temporal: playground.temporalOptions()}
}

// Now reads the database's clock, the only one that decides.
func (playground *Playground) Now(ctx context.Context) (time.Time, error) {
	return app.DatabaseNow(ctx, playground.Pool)
}

// Stop stops everything that was started, whatever becomes of each part.
func (playground *Playground) Stop(ctx context.Context) error {
	if playground.Temporal != nil {
		playground.Temporal.Close()
	}
	if playground.Pool != nil {
		playground.Pool.Close()
	}
	var errs []error
	if playground.drop != nil {
		errs = append(errs, playground.drop(ctx))
	}
	if playground.Stack != nil {
		errs = append(errs, playground.Stack.Stop(ctx))
	}
	return errors.Join(errs...)
}
