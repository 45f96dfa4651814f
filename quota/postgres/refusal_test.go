package postgres

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// plainUpsert is the source's statement: exact, but its refusals lock the row.
const plainUpsert = `
INSERT INTO adjourn.quota_window AS q (window_start, count)
VALUES (adjourn.window_floor(clock_timestamp(), $1::INTERVAL), 1)
ON CONFLICT (window_start) DO UPDATE SET count = q.count + 1 WHERE q.count < $2::INTEGER`

// assigned tells whether a transaction has an id, without which it neither locked a
// row nor wrote anything.
const assigned = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"

// refusals is every way to be refused or to take nothing, with what prepares it.
func refusals(t *testing.T, pool *pgxpool.Pool, register Register) map[string]struct {
	prepare func()
	ceiling int32
	slots   int
} {
	t.Helper()
	hold := func() {
		require.NoError(t, register.Hold(t.Context(), pool, time.Now().Add(time.Hour)))
	}
	type way = struct {
		prepare func()
		ceiling int32
		slots   int
	}
	return map[string]way{
		"full":             {func() {}, 5, 1},
		"beyond full":      {func() {}, 3, 7},
		"ceiling zero":     {func() {}, 0, 1},
		"ceiling negative": {func() {}, -1, 1},
		"nothing asked":    {func() {}, 10, 0},
		"held":             {hold, 10, 1},
	}
}

// TestRefusalsWriteNothing: a refusal takes no transaction id, without which
// neither a row can be locked nor WAL be written for it (A36, G3).
func TestRefusalsWriteNothing(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)

	empty := begin(t, pool)
	for _, ceiling := range []int32{0, -1, math.MinInt32} {
		grant, err := register.Reserve(t.Context(), empty, ceiling, 1)
		require.NoError(t, err)
		require.True(t, grant.Refused())
	}
	require.False(t, read[bool](t, empty, assigned))
	require.Zero(t, read[int](t, empty, "SELECT count(*) FROM adjourn.quota_window"), "no row (A20)")

	_, err := register.Reserve(t.Context(), pool, 5, 5)
	require.NoError(t, err)
	for name, way := range refusals(t, pool, register) {
		way.prepare()
		tx := begin(t, pool)
		grant, err := register.Reserve(t.Context(), tx, way.ceiling, way.slots)
		require.NoError(t, err)
		require.Zero(t, grant.Slots)
		require.False(t, read[bool](t, tx, assigned), name)
		require.NoError(t, tx.Rollback(t.Context()))
		exec(t, pool, "DELETE FROM adjourn.quota_hold")
	}

	control := begin(t, pool)
	exec(t, control, plainUpsert, quota.Day, 5)
	require.True(t, read[bool](t, control, assigned), "the plain statement is caught by this test")
}

// TestOnceRefusedOrRepeatedLeavesTheRowAlone: under a key, too, neither a refusal
// nor a repeat locks or changes the window's row.
func TestOnceRefusedOrRepeatedLeavesTheRowAlone(t *testing.T) {
	t.Parallel()
	const row = "SELECT xmin::TEXT || ' ' || xmax::TEXT FROM adjourn.quota_window"
	pool, register := newSteady(t)
	arbiter := newArbiter(t, pool, daily())
	once := func(ceiling int32, key string, slots int) {
		grant, err := arbiter.ReserveOnce(t.Context(), ceiling, key)
		require.NoError(t, err)
		require.Equal(t, slots, grant.Slots)
	}
	once(1, "kept", 1)
	before := read[string](t, pool, row)
	once(1, "kept", 1)
	once(1, "full", 0)
	once(0, "ceiling", 0)
	require.NoError(t, register.Hold(t.Context(), pool, time.Now().Add(time.Hour)))
	once(10, "held", 0)
	once(10, "kept", 0)
	require.Equal(t, before, read[string](t, pool, row))
	require.Equal(t, "kept", read[string](t, pool, "SELECT key FROM adjourn.quota_reservation"))
	_, err := pool.Exec(t.Context(), plainUpsert, quota.Day, 1)
	require.NoError(t, err)
	require.NotEqual(t, before, read[string](t, pool, row), "the plain statement is caught by this test")
}

// TestHoldThatChangesNothingWritesNothing: after a limit many attempts ask for the
// same hold, or for one that is already over.
func TestHoldThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	long := time.Now().Add(time.Hour)
	require.NoError(t, register.Hold(t.Context(), pool, long))
	tx := begin(t, pool)
	require.NoError(t, register.Hold(t.Context(), tx, long))
	require.NoError(t, register.Hold(t.Context(), tx, long.Add(-time.Minute)))
	require.False(t, read[bool](t, tx, assigned))
	exec(t, pool, "DELETE FROM adjourn.quota_hold")
	require.NoError(t, register.Hold(t.Context(), tx, time.Now().Add(-time.Minute)))
	require.False(t, read[bool](t, tx, assigned))
	require.NoError(t, register.Hold(t.Context(), tx, long))
	require.True(t, read[bool](t, tx, assigned), "a hold that counts is caught by this test")
}

// TestHoldsAtOnceKeepTheLater: a hold that waited for an earlier one's commit does
// not shorten it.
func TestHoldsAtOnceKeepTheLater(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	long := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	tx := begin(t, pool)
	require.NoError(t, register.Hold(t.Context(), tx, long))
	shorter := make(chan error, 1)
	go func() { shorter <- register.Hold(t.Context(), pool, long.Add(-time.Minute)) }()
	waitForLocks(t, pool, 1)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-shorter)
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.WithinDuration(t, long, usage.HeldUntil, 0)
}

// TestRefusalsWriteNoWAL measures what the test above derives: a thousand
// refusals leave next to nothing in the log. Others write to the log of the same
// server, so the quietest of several measurements counts,
// and no other test runs beside it.
func TestRefusalsWriteNoWAL(t *testing.T) {
	const times, tries, quiet, plain = 1000, 8, 8, 60
	pool, register := newSteady(t)
	_, err := register.Reserve(t.Context(), pool, 5, 5)
	require.NoError(t, err)

	bytesEach := func(one func()) float64 {
		least := math.Inf(1)
		for try := 0; try < tries && least > quiet; try++ {
			before := read[string](t, pool, "SELECT pg_current_wal_insert_lsn()::TEXT")
			for range times {
				one()
			}
			written := read[int64](t, pool,
				"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::TEXT::PG_LSN)::BIGINT", before)
			least = min(least, float64(written)/times)
		}
		return least
	}
	for name, way := range refusals(t, pool, register) {
		way.prepare()
		each := bytesEach(func() {
			grant, err := register.Reserve(t.Context(), pool, way.ceiling, way.slots)
			require.NoError(t, err)
			require.Zero(t, grant.Slots)
		})
		require.Less(t, each, float64(quiet), "bytes of WAL for each refusal: %s", name)
		exec(t, pool, "DELETE FROM adjourn.quota_hold")
	}
	each := bytesEach(func() { exec(t, pool, plainUpsert, quota.Day, 5) })
	require.Greater(t, each, float64(plain), "the plain statement is caught by this test")
}

// TestEveryGuardIsNeeded takes each guard of the statement away and looks at what
// breaks: a guard without a test ends up gone (A20, A21, A22, G7).
func TestEveryGuardIsNeeded(t *testing.T) {
	t.Parallel()
	guards := map[string]struct {
		guard  string
		broken func(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool
	}{
		"ceiling below one": {"$2::INTEGER >= 1 AS ceiling_allows", ceilingIgnored},
		"slots below one":   {"$3::INTEGER >= 1 AS slots_asked", emptyRequestWrites},
		"hold":              {"h.held_until IS NULL AS not_held", holdIgnored},
		"full":              {"(w.count >= $2::INTEGER) IS NOT TRUE AS has_room", refusalWrites},
		"full once locked":  {"WHERE q.count < $2::INTEGER", lateRefusalFails},
		"negative count":    {"GREATEST(q.count, 0)", negativeCountGivesRoom},
	}
	for name, one := range guards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, column, named := strings.Cut(one.guard, " AS ")
			without := "TRUE AS " + column
			switch {
			case strings.HasPrefix(one.guard, "WHERE"):
				without = "WHERE TRUE"
			case !named:
				without = "q.count"
			}
			require.Contains(t, reserveSQL, one.guard)
			pool, register := newSteady(t)
			require.False(t, one.broken(t, pool, register, reserveSQL), "as it is")
			exec(t, pool, "TRUNCATE adjourn.quota_window, adjourn.quota_hold")
			require.True(t, one.broken(t, pool, register, strings.ReplaceAll(reserveSQL, one.guard, without)),
				"without the guard")
		})
	}
}

// ceilingIgnored: something was granted, or a row written, under a ceiling of 0;
// or a ceiling of -1 was not refused but failed on the table's own CHECK.
func ceilingIgnored(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	_, err := register.reserve(t.Context(), pool, statement, -1, 1)
	grant, errZero := register.reserve(t.Context(), pool, statement, 0, 1)
	require.NoError(t, errZero)
	rows := read[int](t, pool, "SELECT count(*) FROM adjourn.quota_window")
	return err != nil && (grant.Slots > 0 || rows > 0)
}

func emptyRequestWrites(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	_, err := register.reserve(t.Context(), pool, statement, 10, 0)
	require.NoError(t, err)
	return read[int](t, pool, "SELECT count(*) FROM adjourn.quota_window") > 0
}

func holdIgnored(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	require.NoError(t, register.Hold(t.Context(), pool, time.Now().Add(time.Hour)))
	grant, err := register.reserve(t.Context(), pool, statement, 10, 1)
	require.NoError(t, err)
	return grant.Slots > 0
}

func refusalWrites(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	_, err := register.Reserve(t.Context(), pool, 1, 1)
	require.NoError(t, err)
	tx := begin(t, pool)
	_, err = register.reserve(t.Context(), tx, statement, 1, 1)
	require.NoError(t, err)
	wrote := read[bool](t, tx, assigned)
	require.NoError(t, tx.Rollback(t.Context()))
	return wrote
}

// lateRefusalFails: the window fills while the statement waits for its row.
func lateRefusalFails(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.NoError(t, register.Charge(t.Context(), pool, usage.Window.Start, 1))
	tx := begin(t, pool)
	require.NoError(t, register.Charge(t.Context(), tx, usage.Window.Start, 20))
	type outcome struct {
		grant quota.Grant
		err   error
	}
	late := make(chan outcome, 1)
	go func() {
		grant, err := register.reserve(t.Context(), pool, statement, 10, 3)
		late <- outcome{grant, err}
	}()
	waitForLocks(t, pool, 1)
	require.NoError(t, tx.Commit(t.Context()))
	answered := <-late
	usage, err = register.Usage(t.Context(), pool)
	require.NoError(t, err)
	right := answered.err == nil && answered.grant.Slots == 0 &&
		answered.grant.Reason == quota.ReasonQuotaFull && answered.grant.Count == 10 && usage.Count == 21
	return !right
}

func negativeCountGivesRoom(t *testing.T, pool *pgxpool.Pool, register Register, statement string) bool {
	t.Helper()
	exec(t, pool, "ALTER TABLE adjourn.quota_window DROP CONSTRAINT IF EXISTS quota_window_count_zero_or_positive")
	exec(t, pool, `INSERT INTO adjourn.quota_window (window_start, count)
		VALUES (adjourn.window_floor(clock_timestamp(), $1), -5)`, quota.Day)
	granted := 0
	for range 2 {
		grant, err := register.reserve(t.Context(), pool, statement, 10, 100)
		require.NoError(t, err)
		granted += grant.Slots
	}
	return granted > 10
}
