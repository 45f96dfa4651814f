package postgres

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/quota/quotatest"
)

// TestCadence runs the suite that the cadence in memory passes.
func TestCadence(t *testing.T) {
	t.Parallel()
	quotatest.CadenceConformance(t, func(
		t *testing.T, rate quota.CadenceRate, window time.Duration,
	) (quota.Cadence, func(time.Duration)) {
		pool, _ := newSteady(t)
		return NewCadence(pool, Options{Window: window}, rate), nil
	})
}

// TestCadenceAgreesWithBook holds the statement equal to the rule as a pure
// function, over random rates, bursts, batches and registers.
func TestCadenceAgreesWithBook(t *testing.T) {
	t.Parallel()
	const seed, steps = 13, 200
	random := rand.New(rand.NewPCG(seed, seed))
	pool := dbtest.New(t)
	exec(t, pool, openScheduleSQL)
	for step := range steps {
		rate := quota.CadenceRate{PerSecond: random.Float64() * 3, Burst: 1 + random.IntN(5)}
		cadence := NewCadence(pool, hourly(), rate)
		exec(t, pool, "UPDATE adjourn.quota_cadence SET next_start = clock_timestamp() + $1::INTERVAL",
			time.Duration(random.Int64N(int64(3*time.Hour)))-90*time.Minute)
		next := read[time.Time](t, pool, "SELECT next_start FROM adjourn.quota_cadence")
		n := 1 + random.IntN(30)

		before := read[time.Time](t, pool, "SELECT clock_timestamp()")
		got, err := cadence.Schedule(t.Context(), n)
		require.NoError(t, err)
		after := read[time.Time](t, pool, "SELECT clock_timestamp()")
		gotNext := read[time.Time](t, pool, "SELECT next_start FROM adjourn.quota_cadence")

		// The clock read by the statement lies between the two, and everything the
		// rule says moves with it or stands still.
		early, earlyNext := rate.Book(before, next, quota.WindowAt(before, time.Hour).End(), n)
		late, lateNext := rate.Book(after, next, quota.WindowAt(after, time.Hour).End(), n)
		if quota.WindowAt(before, time.Hour) != quota.WindowAt(after, time.Hour) {
			continue // the window ended in between
		}
		require.WithinRange(t, gotNext, earlyNext, lateNext, "seed %d, step %d", seed, step)
		for i := range got {
			require.LessOrEqual(t, got[i], max(early[i], late[i]), "seed %d, step %d, instant %d", seed, step, i)
			require.GreaterOrEqual(t, got[i], min(early[i], late[i]), "seed %d, step %d, instant %d", seed, step, i)
		}
	}
}

// TestCadenceIsExactAcrossProcesses: four pools book at once, and the schedule
// moves on by exactly one interval for each instant promised: none was promised
// twice.
func TestCadenceIsExactAcrossProcesses(t *testing.T) {
	t.Parallel()
	const processes, callers, rounds = 4, 4, 25
	pool, _ := newSteady(t)
	rate := quota.CadenceRate{PerSecond: 1000, Burst: 1}
	// Far enough ahead that no instant is due before the last call.
	exec(t, pool, `INSERT INTO adjourn.quota_cadence (next_start)
		VALUES (clock_timestamp() + INTERVAL '25 seconds')`)
	first := read[time.Time](t, pool, "SELECT next_start FROM adjourn.quota_cadence")

	var group sync.WaitGroup
	var instants [processes * callers]int
	var errs [processes * callers]error
	for process := range processes {
		cadence := NewCadence(another(t, pool, connections(callers)), daily(), rate)
		for caller := range callers {
			caller += process * callers
			group.Go(func() {
				for range rounds {
					distances, err := cadence.Schedule(t.Context(), 1+caller%3)
					if err != nil {
						errs[caller] = err
						return
					}
					instants[caller] += len(distances)
				}
			})
		}
	}
	group.Wait()
	promised := 0
	for caller, err := range errs {
		require.NoError(t, err)
		promised += instants[caller]
	}
	next := read[time.Time](t, pool, "SELECT next_start FROM adjourn.quota_cadence")
	require.Equal(t, rate.Span(promised), next.Sub(first), "%d instants", promised)
}

// TestCadenceIsOpenedOnce: of two processes that find no schedule one opens it, and
// the other goes on from what was promised meanwhile.
func TestCadenceIsOpenedOnce(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	tx := begin(t, pool)
	exec(t, tx, "INSERT INTO adjourn.quota_cadence (next_start) VALUES (clock_timestamp() + INTERVAL '20 seconds')")
	type outcome struct {
		distances []time.Duration
		err       error
	}
	second := make(chan outcome, 1)
	go func() {
		cadence := NewCadence(pool, daily(), quota.CadenceRate{PerSecond: 1, Burst: 1})
		distances, err := cadence.Schedule(t.Context(), 1)
		second <- outcome{distances, err}
	}()
	waitForLocks(t, pool, 1)
	require.NoError(t, tx.Commit(t.Context()))
	answered := <-second
	require.NoError(t, answered.err)
	require.Positive(t, answered.distances[0])
}

// TestCadenceIsOneStatement: one call, one statement; switched off, none.
func TestCadenceIsOneStatement(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	exec(t, pool, openScheduleSQL)
	var traced counter
	own := another(t, pool, func(config *pgxpool.Config) { config.ConnConfig.Tracer = &traced })
	off := NewCadence(own, daily(), quota.CadenceRate{})
	_, err := off.Schedule(t.Context(), 20)
	require.NoError(t, err)
	require.Zero(t, traced.statements.Load())
	on := NewCadence(own, daily(), quota.CadenceRate{PerSecond: 1, Burst: 1})
	for call := range 3 {
		_, err := on.Schedule(t.Context(), 20)
		require.NoError(t, err)
		require.EqualValues(t, call+1, traced.statements.Load())
	}
}

// TestCadenceOutlivesNonsense: whatever the row holds, it is over with the window.
func TestCadenceOutlivesNonsense(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	exec(t, pool, openScheduleSQL)
	cadence := NewCadence(pool, daily(), quota.CadenceRate{PerSecond: 1, Burst: 1})
	end := quota.WindowAt(read[time.Time](t, pool, "SELECT clock_timestamp()"), quota.Day).End()
	for _, nonsense := range []string{"infinity", "9999-01-01"} {
		exec(t, pool, "UPDATE adjourn.quota_cadence SET next_start = $1::TEXT::TIMESTAMPTZ", nonsense)
		distances, err := cadence.Schedule(t.Context(), 2)
		require.NoError(t, err)
		require.Positive(t, distances[0])
		require.LessOrEqual(t, distances[0], quota.Day)
		require.WithinDuration(t, end, read[time.Time](t, pool, "SELECT next_start FROM adjourn.quota_cadence"), 0)
	}
	exec(t, pool, "UPDATE adjourn.quota_cadence SET next_start = '-infinity'")
	distances, err := cadence.Schedule(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, time.Second}, distances)
}
