package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Querier runs statements; a pool, a connection and a transaction each fit.
type Querier interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// The bounds of every statement on a store's pool. A lane that waits longer is
// better off with an error and another try.
const (
	lockTimeout      = 2 * time.Second
	statementTimeout = 10 * time.Second
	// idleTimeout ends the transaction of a process that froze in the middle of
	// it, so that its locks hold up nobody else.
	idleTimeout = 5 * time.Second
	// connectTimeout bounds reaching the server.
	connectTimeout = 5 * time.Second
)

// ConfigurePool bounds what a store's pool may wait for and names its
// connections in pg_stat_activity.
func ConfigurePool(config *pgxpool.Config, applicationName string) {
	set := config.ConnConfig.RuntimeParams
	set["application_name"] = applicationName
	set["lock_timeout"] = milliseconds(lockTimeout)
	set["statement_timeout"] = milliseconds(statementTimeout)
	set["idle_in_transaction_session_timeout"] = milliseconds(idleTimeout)
	config.ConnConfig.ConnectTimeout = connectTimeout
}

func milliseconds(duration time.Duration) string {
	return strconv.FormatInt(duration.Milliseconds(), 10)
}
