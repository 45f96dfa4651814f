package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestLanesGoByID: a plan made once while nothing was in flight, and kept, reads
// the works it is told and no others, however many are in flight later.
func TestLanesGoByID(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	lane.exec(`
		INSERT INTO adjourn.work (flow, stream, idempotency_key)
		SELECT 'f', 'f', i::TEXT FROM generate_series(1, 20000) AS i;
		INSERT INTO adjourn.work_payload SELECT id, 'a/b', '' FROM adjourn.work;
		ANALYZE adjourn.work, adjourn.work_payload`)
	connection, err := lane.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer connection.Release()
	for name, statement := range map[string]string{
		"begin": beginSQL, "payload": payloadSQL, "record": recordSQL, "release": releaseSQL,
	} {
		for _, setUp := range []string{
			"SET plan_cache_mode = force_generic_plan", "PREPARE " + name + " AS " + statement,
		} {
			_, err := connection.Exec(t.Context(), setUp, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
		}
		parameters := strings.Repeat(", NULL", map[string]int{"begin": 7, "payload": 1, "record": 10, "release": 3}[name])[2:]
		rows, err := connection.Query(t.Context(),
			"EXPLAIN EXECUTE "+name+" ("+parameters+")", pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.Contains(t, plan, "using work_pkey on work")
		for _, walks := range []string{"Seq Scan", "work_in_flight", "work_admitted", "work_attempting on work"} {
			require.NotContains(t, plan, walks, name)
		}
	}
}
