package endtoend

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverSetup is how River is configured.
type riverSetup struct {
	workers int
	// cooldown and poll of fetching; zero is River's default.
	cooldown, poll time.Duration
	// connections of the pool; zero is pgxpool's default.
	connections int32
}

// River's documentation shows MaxWorkers 100 for the default queue; the rest of
// the first are its defaults. The second was the fastest found on two cores.
var (
	riverDefault = riverSetup{workers: 100}
	riverTuned   = riverSetup{
		workers: 1000, cooldown: time.Millisecond, poll: 10 * time.Millisecond, connections: 16,
	}
)

type riverArgs struct {
	Body string `json:"body"`
}

func (riverArgs) Kind() string { return "emit" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	caller *http.Client
	url    string
}

func (worker *riverWorker) Work(ctx context.Context, job *river.Job[riverArgs]) error {
	return call(ctx, worker.caller, worker.url, strconv.FormatInt(job.ID, 10))
}

// river works jobs that were inserted before the watch starts.
func (stage *stage) river(ctx context.Context, works int, setup riverSetup) (outcome, error) {
	pool, err := stage.riverPool(ctx, setup)
	if err != nil {
		return outcome{}, err
	}
	defer pool.Close()
	caller := newCaller(setup.workers)
	defer caller.CloseIdleConnections()
	client, err := newRiver(pool, setup, &riverWorker{caller: caller, url: stage.party.url})
	if err != nil {
		return outcome{}, err
	}
	if err := insertJobs(ctx, pool, client, works); err != nil {
		return outcome{}, err
	}
	before := stage.party.arrived.Load()
	watch := time.Now()
	if err := client.Start(ctx); err != nil {
		return outcome{}, err
	}
	err = await(ctx, "every job to be completed",
		stage.emptied(ctx, before, works, "SELECT FROM river_job WHERE state <> 'completed'"))
	took := time.Since(watch)
	if err == nil {
		err = stage.checkArrivals(before, works)
	}
	return outcome{works: works, took: took},
		joined(err, func() error { return client.Stop(context.WithoutCancel(ctx)) })
}

func (stage *stage) riverPool(ctx context.Context, setup riverSetup) (*pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig(stage.Stack.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if setup.connections > 0 {
		settings.MaxConns = setup.connections
	}
	return pgxpool.NewWithConfig(ctx, settings)
}

func newRiver(pool *pgxpool.Pool, setup riverSetup, worker *riverWorker) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: setup.workers}},
		FetchCooldown: setup.cooldown, FetchPollInterval: setup.poll,
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
}

// insertJobs migrates, empties the table and fills it the fastest way River has.
func insertJobs(ctx context.Context, pool *pgxpool.Pool, client *river.Client[pgx.Tx], works int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return err
	}
	const batch = 1000
	for first := 0; first < works; first += batch {
		params := make([]river.InsertManyParams, min(batch, works-first))
		for i := range params {
			params[i] = river.InsertManyParams{Args: riverArgs{Body: body}}
		}
		if _, err := client.InsertManyFast(ctx, params); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
	}
	_, err = pool.Exec(ctx, "VACUUM ANALYZE river_job")
	return err
}
