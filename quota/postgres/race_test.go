package postgres

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/quota/quotatest"
)

// fromTheSnapshot is the mistake to be caught: it grants from what the statement
// saw when it began, not from the row it locked.
const fromTheSnapshot = `
WITH seen AS MATERIALIZED (
    SELECT c.now, c.window_start, coalesce(w.count, 0) AS count
      FROM (SELECT clock_timestamp() AS now,
                   adjourn.window_floor(clock_timestamp(), $1::INTERVAL) AS window_start) AS c
      LEFT JOIN adjourn.quota_window AS w ON w.window_start = c.window_start
), taken AS (
    INSERT INTO adjourn.quota_window AS q (window_start, count, last_grant)
    SELECT s.window_start, LEAST($3::INTEGER, $2::INTEGER - s.count), LEAST($3::INTEGER, $2::INTEGER - s.count)
      FROM seen AS s
     WHERE s.count < $2::INTEGER
    ON CONFLICT (window_start) DO UPDATE
       SET count = q.count + EXCLUDED.last_grant, last_grant = EXCLUDED.last_grant
    RETURNING q.count, q.last_grant
)
SELECT s.window_start, s.now, coalesce(t.last_grant, 0), coalesce(t.count, s.count), NULL::TIMESTAMPTZ
  FROM seen AS s LEFT JOIN taken AS t ON TRUE`

// moving is a race of 64 connections with random batches under ceilings that move
// up and down.
func moving(seed uint64) quotatest.RaceOptions {
	return quotatest.RaceOptions{
		Callers: 64, Rounds: 30, SlotsMax: 200, CeilingMin: 2000, CeilingMax: 60_000, Seed: seed,
	}
}

// TestRaceOf64Connections: one statement each, uncombined (A03, A17, A18, G1). Not
// parallel, because it takes most of the connections a server may have.
func TestRaceOf64Connections(t *testing.T) {
	pool, register := newSteady(t)
	wide := another(t, pool, connections(64))
	race := func(statement string) []string {
		exec(t, pool, "TRUNCATE adjourn.quota_window")
		return quotatest.Race(t.Context(), func(
			ctx context.Context, ceiling int32, slots int,
		) (quota.Grant, error) {
			return register.reserve(ctx, wide, statement, ceiling, slots)
		}, moving(1))
	}
	require.Empty(t, race(reserveSQL))
	require.NotEmpty(t, race(fromTheSnapshot), "a grant from the snapshot is caught by this test")
}

// TestRaceOfFourProcesses: four pools with an arbiter each, callers combined
// (A03, A08, A09). Not parallel, as above.
func TestRaceOfFourProcesses(t *testing.T) {
	pool, register := newSteady(t)
	race := func(options quotatest.RaceOptions) []string {
		exec(t, pool, "TRUNCATE adjourn.quota_window")
		var arbiters [4]*Arbiter
		for i := range arbiters {
			arbiters[i] = newArbiter(t, another(t, pool, connections(4)), daily())
		}
		var next atomic.Int64
		return quotatest.Race(t.Context(), func(
			ctx context.Context, ceiling int32, slots int,
		) (quota.Grant, error) {
			return arbiters[next.Add(1)%int64(len(arbiters))].Reserve(ctx, ceiling, slots)
		}, options)
	}
	require.Empty(t, race(moving(2)))
	const ceiling = 1000
	require.Empty(t, race(quotatest.RaceOptions{
		Callers: 64, Rounds: 40, SlotsMax: 2, CeilingMin: ceiling, CeilingMax: ceiling, Seed: 3,
	}))
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, ceiling, usage.Count, "more was asked than there is")
}

// TestRaceForTheLastSlot: two processes read 999 of 1000; a thousand times,
// exactly one of them gets the last slot (A05).
func TestRaceForTheLastSlot(t *testing.T) {
	t.Parallel()
	const ceiling, rounds = 1000, 1000
	pool, register := newSteady(t)
	processes := [2]*pgxpool.Pool{another(t, pool, connections(1)), another(t, pool, connections(1))}
	usage, err := register.Usage(t.Context(), pool)
	require.NoError(t, err)
	require.NoError(t, register.Charge(t.Context(), pool, usage.Window.Start, 1))
	for range rounds {
		exec(t, pool, "UPDATE adjourn.quota_window SET count = $1", ceiling-1)
		var grants [2]quota.Grant
		var errs [2]error
		start, ended := make(chan struct{}), make(chan struct{}, 2)
		for i, process := range processes {
			go func() {
				<-start
				grants[i], errs[i] = register.Reserve(t.Context(), process, ceiling, 1)
				ended <- struct{}{}
			}()
		}
		close(start)
		<-ended
		<-ended
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.Equal(t, 1, grants[0].Slots+grants[1].Slots)
		require.Equal(t, ceiling, grants[0].Count)
		require.Equal(t, ceiling, grants[1].Count)
		require.Equal(t, ceiling, read[int](t, pool, "SELECT count FROM adjourn.quota_window"))
	}
}
