package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adjourn/adjourn/internal/submission"
	"github.com/adjourn/adjourn/migrations"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// Bounds of a pool's connections.
const (
	connectTimeout   = 5 * time.Second
	connLifetime     = 30 * time.Minute
	connIdleTime     = 5 * time.Minute
	statementTimeout = 30 * time.Second
	lockTimeout      = 5 * time.Second
)

// pool opens a pool of at most size connections that connects when first used.
// name is how its connections show in pg_stat_activity; configure may change
// what the pool's own limits are, nil leaves them.
func pool(
	ctx context.Context, url, name string, size int, configure func(*pgxpool.Config),
) (*pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	settings.MaxConns = int32(min(size, 1000))
	settings.MinConns = 0
	settings.MaxConnLifetime = connLifetime
	settings.MaxConnLifetimeJitter = connLifetime / 10
	settings.MaxConnIdleTime = connIdleTime
	settings.ConnConfig.ConnectTimeout = connectTimeout
	parameters := settings.ConnConfig.RuntimeParams
	parameters["application_name"] = "adjourn " + name
	parameters["statement_timeout"] = strconv.FormatInt(statementTimeout.Milliseconds(), 10)
	parameters["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	parameters["idle_in_transaction_session_timeout"] = strconv.FormatInt(statementTimeout.Milliseconds(), 10)
	if configure != nil {
		configure(settings)
	}
	opened, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("open the pool %s: %w", name, err)
	}
	return opened, nil
}

// OpenDatabase opens a small pool for one command and checks that the database
// answers and holds this program's schema; the caller closes it. Its errors say
// what to do.
func OpenDatabase(ctx context.Context, url string) (*pgxpool.Pool, error) {
	opened, err := pool(ctx, url, "command", commandPoolSize, nil)
	if err != nil {
		return nil, err
	}
	if err := CheckSchema(ctx, opened); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

const commandPoolSize = 4

// CheckSchema returns a [*migrations.SchemaError] unless the database holds
// exactly the schema this program needs, and an error that names DATABASE_URL
// when the database does not answer.
func CheckSchema(ctx context.Context, db migrations.Querier) error {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	return ExplainDatabase(migrations.Check(ctx, db))
}

// ExplainDatabase adds to a failure to connect which setting to look at; other
// errors, and nil, are returned as they are.
func ExplainDatabase(err error) error {
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.As(err, &network) {
		return fmt.Errorf("the database does not answer (DATABASE_URL): %w", err)
	}
	return err
}

// DatabaseNow reads the database's clock.
func DatabaseNow(ctx context.Context, db *pgxpool.Pool) (time.Time, error) {
	var now time.Time
	if err := db.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return time.Time{}, ExplainDatabase(fmt.Errorf("read the database's clock: %w", err))
	}
	return now.UTC(), nil
}

// SubmissionRegister hands batches of works to the store.
func SubmissionRegister(store *workpostgres.Store) submission.Register {
	return func(ctx context.Context, batch []work.Submission) []submission.Answer {
		results := store.SubmitAll(ctx, batch)
		answers := make([]submission.Answer, len(results))
		for i, result := range results {
			answers[i] = submission.Answer{Submitted: result.Submitted, Err: result.Err}
		}
		return answers
	}
}
