package postgres

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/quota/quotatest"
)

// TestArbiter runs the suite that the arbiter in memory passes.
func TestArbiter(t *testing.T) {
	t.Parallel()
	quotatest.Conformance(t, func(t *testing.T, options quotatest.Options) quotatest.Subject {
		pool := dbtest.New(t)
		return quotatest.Subject{Arbiter: newArbiter(t, pool, Options{
			Window: options.Window, HoldMax: options.HoldMax,
		})}
	})
}

// TestReserveIsOneStatement: one reservation, granted or refused, is one statement
// (A14, A18); while the window is known to be full a refusal needs none.
func TestReserveIsOneStatement(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	var traced counter
	arbiter := newArbiter(t, another(t, pool, func(config *pgxpool.Config) {
		config.ConnConfig.Tracer = &traced
	}), daily())
	reserve := func(ceiling int32, count int, granted bool, statements int) {
		t.Helper()
		grant, err := arbiter.Reserve(t.Context(), ceiling, 1)
		require.NoError(t, err)
		require.Equal(t, granted, !grant.Refused())
		require.Equal(t, count, grant.Count)
		require.EqualValues(t, statements, traced.statements.Load())
	}
	for reservation := 1; reservation <= 5; reservation++ {
		reserve(5, reservation, true, reservation)
	}
	for range 10 {
		reserve(5, 5, false, 5)
		reserve(3, 5, false, 5)
		reserve(-1, 5, false, 5)
	}
	reserve(7, 6, true, 6)
	reserve(6, 6, false, 6)
	exec(t, pool, "UPDATE adjourn.quota_window SET count = 7")
	reserve(7, 7, false, 7)
	reserve(7, 7, false, 7)
}

// TestWhatThisProcessChangesItKnows: its own charge, hold or keyed reservation
// shows in its next refusal, although the window was known to be full.
func TestWhatThisProcessChangesItKnows(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	arbiter := newArbiter(t, pool, daily())
	refused := func(count int, reason quota.Reason) {
		t.Helper()
		for range 2 {
			grant, err := arbiter.Reserve(t.Context(), 5, 1)
			require.NoError(t, err)
			require.Equal(t, count, grant.Count)
			require.Equal(t, reason, grant.Reason)
		}
	}
	grant, err := arbiter.Reserve(t.Context(), 5, 5)
	require.NoError(t, err)
	require.Equal(t, 5, grant.Slots)
	refused(5, quota.ReasonQuotaFull)
	require.NoError(t, arbiter.Charge(t.Context(), grant.Window.Start, 2))
	refused(7, quota.ReasonQuotaFull)
	once, err := arbiter.ReserveOnce(t.Context(), 10, "key")
	require.NoError(t, err)
	require.Equal(t, 1, once.Slots)
	refused(8, quota.ReasonQuotaFull)
	require.NoError(t, arbiter.Hold(t.Context(), grant.Now.Add(time.Hour)))
	refused(8, quota.ReasonThirdPartyLimit)
}

// TestReserveTakesAnyNumber: what a statement cannot express is cut to what it can.
func TestReserveTakesAnyNumber(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	for _, c := range []struct{ slots, granted, count int }{
		{math.MinInt, 0, 0}, {-1, 0, 0}, {math.MinInt + 7, 0, 0}, {math.MaxInt, 10, 10}, {math.MaxInt, 0, 10},
	} {
		grant, err := register.Reserve(t.Context(), pool, 10, c.slots)
		require.NoError(t, err)
		require.Equal(t, c.granted, grant.Slots, "%d slots", c.slots)
		require.Equal(t, c.count, grant.Count)
		require.Equal(t, c.slots > c.granted, grant.Refused())
	}
}

// TestReserveGivesUpWithItsCaller: with the row locked by somebody else a caller
// waits no longer than its own context, and learns an error, not a refusal.
func TestReserveGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	arbiter := newArbiter(t, another(t, pool, connections(4)), daily())
	tx := begin(t, pool)
	_, err := register.Reserve(t.Context(), tx, 10, 1)
	require.NoError(t, err)

	ctx, giveUp := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := arbiter.Reserve(ctx, 10, 1)
		answered <- err
	}()
	waitForLocks(t, pool, 1)
	giveUp()
	require.ErrorIs(t, <-answered, context.Canceled)

	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "the abandoned slot is counted", func() bool {
		usage, err := arbiter.Usage(t.Context())
		require.NoError(t, err)
		return usage.Count == 2
	})
}

// TestReserveTimesOut: a statement that does not come back frees the next ones.
func TestReserveTimesOut(t *testing.T) {
	t.Parallel()
	pool, register := newSteady(t)
	options := daily()
	options.Timeout = 500 * time.Millisecond
	arbiter := newArbiter(t, another(t, pool, connections(4)), options)
	tx := begin(t, pool)
	_, err := register.Reserve(t.Context(), tx, 10, 1)
	require.NoError(t, err)
	_, err = arbiter.Reserve(t.Context(), 10, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
	eventually(t, "the arbiter grants again", func() bool {
		grant, err := arbiter.Reserve(t.Context(), 10, 1)
		return err == nil && grant.Slots == 1
	})
}

// TestPruneOnceForgetsOnlyWhatIsOver: a reservation of the present window stays.
func TestPruneOnceForgetsOnlyWhatIsOver(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	arbiter := newArbiter(t, pool, daily())
	for _, key := range []string{"a", "b", "c", "present"} {
		_, err := arbiter.ReserveOnce(t.Context(), 10, key)
		require.NoError(t, err)
	}
	exec(t, pool, `UPDATE adjourn.quota_reservation
		SET window_start = window_start - INTERVAL '1 day' WHERE key <> 'present'`)
	for _, want := range []int{2, 1, 0} {
		pruned, err := arbiter.PruneOnce(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, want, pruned)
	}
	require.Equal(t, "present", read[string](t, pool, "SELECT key FROM adjourn.quota_reservation"))
	pruned, err := arbiter.PruneOnce(t.Context(), -1)
	require.NoError(t, err)
	require.Zero(t, pruned)
}

// TestReserveOnceAfterWaiting: keys that passed the snapshot while others held the
// window's row are judged by what these left behind, and repeats of one key that
// arrive together take one slot.
func TestReserveOnceAfterWaiting(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name           string
		meanwhile      int
		keys           [2]string
		granted, count int
	}{
		{"the window fills", 20, [2]string{"a", "b"}, 0, 21},
		{"one slot is left", 8, [2]string{"a", "b"}, 1, 10},
		{"one key twice", 1, [2]string{"a", "a"}, 2, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool, register := newSteady(t)
			arbiter := newArbiter(t, pool, daily())
			before, err := register.Reserve(t.Context(), pool, 10, 1)
			require.NoError(t, err)
			tx := begin(t, pool)
			require.NoError(t, register.Charge(t.Context(), tx, before.Window.Start, c.meanwhile))
			var grants [2]quota.Grant
			var errs [2]error
			var group sync.WaitGroup
			for i, key := range c.keys {
				group.Go(func() { grants[i], errs[i] = arbiter.ReserveOnce(t.Context(), 10, key) })
			}
			waitForLocks(t, pool, len(c.keys))
			require.NoError(t, tx.Commit(t.Context()))
			group.Wait()
			require.NoError(t, errs[0])
			require.NoError(t, errs[1])
			require.Equal(t, c.granted, grants[0].Slots+grants[1].Slots)
			usage, err := arbiter.Usage(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.count, usage.Count)
		})
	}
}

// TestReserveOnceFailsWhole: the transaction ends with the answer; one that fails
// after the slot was taken leaves neither slot nor reservation, or both.
func TestReserveOnceFailsWhole(t *testing.T) {
	t.Parallel()
	pool, _ := newSteady(t)
	arbiter := newArbiter(t, pool, daily())
	exec(t, pool, "ALTER TABLE adjourn.quota_reservation ADD CHECK (key <> 'refused')")
	_, err := arbiter.ReserveOnce(t.Context(), 10, "refused")
	require.Error(t, err)
	usage, err := arbiter.Usage(t.Context())
	require.NoError(t, err)
	require.Zero(t, usage.Count)
	grant, err := arbiter.ReserveOnce(t.Context(), 10, "accepted")
	require.NoError(t, err)
	require.Equal(t, 1, grant.Slots)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { NewRegister(Options{}) })
	require.Panics(t, func() { NewRegister(Options{Window: 7 * time.Minute}) })
	filled := Options{Window: time.Hour}.withDefaults()
	require.Positive(t, filled.HoldMax)
	require.Positive(t, filled.Timeout)
}
