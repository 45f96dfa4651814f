package app

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/dbtest"
)

// TestLanePoolsGiveUpSoon: a lane's connections have the bounds of the works'
// register, so that a frozen process's locks hold up no other lane for long (G2).
func TestLanePoolsGiveUpSoon(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"DATABASE_URL=" + dbtest.URL(t)})
	require.NoError(t, err)
	parts := newParts(cfg, Dependencies{Logger: zaptest.NewLogger(t)})
	t.Cleanup(func() { require.NoError(t, parts.cleanups.close(context.Background())) })
	pools, err := openPools(t.Context(), parts)
	require.NoError(t, err)
	for name, pool := range map[string]*pgxpool.Pool{"override": pools.override, "general": pools.general} {
		var lock, statement, idle, application string
		require.NoError(t, pool.QueryRow(t.Context(), `
			SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
			       current_setting('idle_in_transaction_session_timeout'),
			       current_setting('application_name')`).Scan(&lock, &statement, &idle, &application))
		require.Equal(t, []string{"2s", "10s", "5s", "adjourn " + name},
			[]string{lock, statement, idle, application}, name)
	}
}
