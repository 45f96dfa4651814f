package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestArbiterInError: enforced works are deferred and say so, observed ones go,
// the error is told and returned to nobody (G8).
func TestArbiterInError(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		breakIt func(*pass)
		change  func(*pgxpool.Config)
	}{
		"Dropped": {breakIt: func(pass *pass) { pass.exec("DROP TABLE adjourn.quota_window") }},
		"Unreachable": {
			breakIt: func(*pass) {},
			change:  func(config *pgxpool.Config) { config.ConnConfig.Port = 1 },
		},
		"Locked": {breakIt: func(pass *pass) {
			tx, err := pass.pool.Begin(pass.t.Context())
			require.NoError(pass.t, err)
			pass.t.Cleanup(func() { rollBack(pass.t.Context(), tx) })
			_, err = tx.Exec(pass.t.Context(), "LOCK TABLE adjourn.quota_window IN ACCESS EXCLUSIVE MODE")
			require.NoError(pass.t, err)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass := newPass(t, 10)
			enforced := pass.submit("e", 0, 0)
			observed := pass.submit("o", 0)
			before := pass.rows(enforced...)
			c.breakIt(pass)
			admitter, failures := pass.admitter(pass.arbiterPool(c.change))

			batch, err := admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 10})
			require.NoError(t, err)
			require.NotEmpty(t, failures.list())
			require.Equal(t, observed, carried(batch.Carriages))
			require.Equal(t, 1, batch.WouldDefer.Total())
			require.Zero(t, batch.Granted.Total())
			require.Equal(t, map[string]work.Tally{"arbiter_unavailable": {"e": 2}}, batch.Deferred)
			require.Equal(t, before, pass.rows(enforced...), "a deferral leaves the work as it was (A33, A36)")
		})
	}
}

// TestFullWindowCostsAPassLittle: whatever the backlog, a pass over a full window
// admits nothing, and once the head is recorded as deferred it writes nothing
// (A28, A34).
func TestFullWindowCostsAPassLittle(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 3)
	pass.backlog("e", 100_000)
	require.Equal(t, 3, pass.admit(pass.options(3, 10)).Granted.Total())

	first := pass.admit(pass.options(1000, 20))
	require.Empty(t, first.Carriages)
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": 1000}}, first.Deferred)
	again := pass.admit(pass.options(1000, 20))
	require.Empty(t, again.Carriages)
	require.Empty(t, again.Deferred, "a work is deferred once in a window")
	require.Equal(t, 1000, pass.count("SELECT count(*) FROM adjourn.deferral"))
}
