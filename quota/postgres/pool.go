package postgres

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ApplicationName is how the arbiter's connections show in pg_stat_activity.
const ApplicationName = "adjourn arbiter"

// ConfigurePool sets what every connection of an arbiter needs: how long it may
// wait for a lock, run a statement and sit idle in a transaction (as long as a
// statement may run), its name, and the two settings that exactness rests on,
// whatever the database's defaults: read committed, and a commit that is durable
// before it is answered. Times are rounded up to a millisecond; zero or less, like
// a database without limits, waits for ever.
func ConfigurePool(config *pgxpool.Config, lockTimeout, statementTimeout time.Duration) {
	parameters := config.ConnConfig.RuntimeParams
	parameters["application_name"] = ApplicationName
	parameters["lock_timeout"] = milliseconds(lockTimeout)
	parameters["statement_timeout"] = milliseconds(statementTimeout)
	parameters["idle_in_transaction_session_timeout"] = milliseconds(statementTimeout)
	parameters["default_transaction_isolation"] = "read committed"
	parameters["synchronous_commit"] = "on"
}

func milliseconds(length time.Duration) string {
	rounded := (max(0, length) + time.Millisecond - 1) / time.Millisecond
	return strconv.FormatInt(int64(rounded), 10)
}
