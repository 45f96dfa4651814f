package postgres

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
)

// zones of sessions, among them half-hour and quarter-hour ones and those that
// change their clocks by less than an hour.
var zones = []string{
	"UTC", "Europe/Paris", "America/New_York", "America/St_Johns", "Asia/Kolkata",
	"Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Apia",
}

// instants draws random instants, on both sides of the epoch, and adds the edges:
// every ten minutes around clock changes, midnights and year ends, with a
// microsecond to either side.
func instants(random *rand.Rand) []time.Time {
	var drawn []time.Time
	for range 3000 {
		drawn = append(drawn, time.UnixMicro(random.Int64N(8e15)-4e15).UTC())
	}
	for _, day := range []string{
		"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04",
		"2011-12-30", "1969-12-31", "1970-01-01", "2026-12-31", "2028-02-29",
	} {
		first, err := time.Parse(time.DateOnly, day)
		if err != nil {
			panic(err)
		}
		for at := first.Add(-time.Hour); at.Before(first.Add(25 * time.Hour)); at = at.Add(10 * time.Minute) {
			drawn = append(drawn, at.Add(-time.Microsecond), at, at.Add(time.Microsecond))
		}
	}
	return drawn
}

// TestWindowFloorIsTheSameInSQLAndGo: two definitions held equal, whatever the
// session's time zone (A25, A26, G12).
func TestWindowFloorIsTheSameInSQLAndGo(t *testing.T) {
	t.Parallel()
	const seed = 5
	drawn := instants(rand.New(rand.NewPCG(seed, seed)))
	lengths := []time.Duration{
		time.Second, 20 * time.Second, 96 * time.Second, 15 * time.Minute, time.Hour,
		90 * time.Minute, 8 * time.Hour, quota.Day,
	}
	tx := begin(t, dbtest.New(t))
	for _, zone := range zones {
		exec(t, tx, "SELECT set_config('TimeZone', $1, TRUE)", zone)
		for _, length := range lengths {
			rows, err := tx.Query(t.Context(), `
				SELECT adjourn.window_floor(i, $2::INTERVAL)
				  FROM unnest($1::TIMESTAMPTZ[]) WITH ORDINALITY AS n (i, position) ORDER BY position`,
				drawn, length)
			require.NoError(t, err)
			floors, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
			require.NoError(t, err)
			require.Len(t, floors, len(drawn))
			for i, floor := range floors {
				want := quota.WindowAt(drawn[i], length).Start
				if !want.Equal(floor) {
					require.Fail(t, "SQL and Go differ", "%s in windows of %s, session in %s: SQL %s, Go %s",
						drawn[i], length, zone, floor.UTC(), want)
				}
			}
		}
	}
}

// TestSessionTimeZoneMovesNothing: sessions of every zone write and read the same
// windows (A26).
func TestSessionTimeZoneMovesNothing(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	for _, length := range []time.Duration{time.Hour, quota.Day} {
		exec(t, pool, "TRUNCATE adjourn.quota_window")
		register := NewRegister(Options{Window: length})
		for i, zone := range zones {
			session := another(t, pool, func(config *pgxpool.Config) {
				config.MaxConns = 1
				config.ConnConfig.RuntimeParams["timezone"] = zone
			})
			grant, err := register.Reserve(t.Context(), session, 1000, 1)
			require.NoError(t, err)
			require.Equal(t, quota.WindowAt(grant.Now, length), grant.Window, zone)
			require.NoError(t, register.Charge(t.Context(), session, grant.Now, 1))
			usage, err := register.Usage(t.Context(), session)
			require.NoError(t, err)
			if usage.Window == grant.Window && length == quota.Day {
				require.Equal(t, 2*(i+1), usage.Count, zone)
			}
		}
		require.Zero(t, read[int](t, pool, `SELECT count(*) FROM adjourn.quota_window
			WHERE extract(minute FROM window_start AT TIME ZONE 'UTC') <> 0`))
		require.LessOrEqual(t, read[int](t, pool, "SELECT count(*) FROM adjourn.quota_window"), 2)
	}
}
