package postgres

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/adjourn/adjourn/work"
)

// TestCountEmissions adds each emission to the window it left in, past any
// ceiling, and to the figures of its lane (A48, G6).
func TestCountEmissions(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	accounting := &Accounting{Store: pass.store, Register: pass.register}
	now := pass.usage().Now
	require.NoError(t, accounting.CountEmissions(t.Context(), []work.Emission{
		{Flow: "e", Lane: work.Override, At: now},
		{Flow: "x", Lane: work.Exempt, At: now},
		{Flow: "e", Lane: work.Override, At: now.Add(-24 * time.Hour)},
		{Flow: "x", Lane: work.Exempt, At: now},
	}))
	require.Equal(t, 3, pass.usage().Count)
	require.Equal(t, []int{1, 3}, passRead[int](pass, "SELECT count FROM adjourn.quota_window ORDER BY window_start"))
	require.Equal(t, map[string]int64{"e overridden": 2, "x exempt": 2}, pass.figures())
	require.Zero(t, pass.usage().Remaining(1), "governed work sees less room")
	require.NoError(t, accounting.CountEmissions(t.Context(), nil))
}

// TestCountEmissionsAllOrNone: a batch that cannot be counted whole leaves nothing,
// so that trying again counts nothing twice.
func TestCountEmissionsAllOrNone(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	accounting := &Accounting{Store: pass.store, Register: pass.register}
	now := pass.usage().Now
	for _, lane := range []work.Lane{work.Governed, "", "nonsense"} {
		err := accounting.CountEmissions(t.Context(), []work.Emission{
			{Flow: "x", Lane: work.Exempt, At: now}, {Flow: "e", Lane: lane, At: now},
		})
		require.ErrorContains(t, err, "accepted are override and exempt")
	}
	pass.exec("ALTER TABLE adjourn.quota_figure ADD CHECK (flow <> 'bad')")
	require.Error(t, accounting.CountEmissions(t.Context(), []work.Emission{
		{Flow: "x", Lane: work.Exempt, At: now}, {Flow: "bad", Lane: work.Exempt, At: now},
	}))
	require.Zero(t, pass.usage().Count)
	require.Empty(t, pass.figures())
}

// TestEverythingAtOnce: thirty-two callers admit, defer, count, override, recover
// and give back at the same time. Nobody waits in a circle, the counter and the
// figures agree to the last emission, and no enforced work goes past the ceiling
// (G1).
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const callers, rounds, ceiling = 32, 15, 150
	pass := newPass(t, ceiling)
	accounting := &Accounting{Store: pass.store, Register: pass.register}
	yesterday := pass.usage().Now.Add(-24 * time.Hour)
	var granted, wouldDefer, counted atomic.Int64
	var group errgroup.Group
	for caller := range callers {
		random := rand.New(rand.NewPCG(3, uint64(caller)))
		group.Go(func() error {
			for round := range rounds {
				var err error
				switch (caller + round) % 6 {
				case 0:
					pass.submit([]string{"e", "o"}[random.IntN(2)], make([]time.Duration, 5+random.IntN(10))...)
					pass.submit("e", time.Minute)
				case 1, 2:
					var batch work.AdmissionBatch
					batch, err = pass.store.Admit(t.Context(), pass.options(1+random.IntN(30), 1+random.IntN(5)))
					granted.Add(int64(batch.Granted.Total()))
					wouldDefer.Add(int64(batch.WouldDefer.Total()))
				case 3:
					var emissions []work.Emission
					for range 1 + random.IntN(3) {
						emissions = append(emissions,
							work.Emission{Flow: "x", Lane: work.Exempt, At: yesterday.Add(time.Duration(random.IntN(2)) * 24 * time.Hour)},
							work.Emission{Flow: "e", Lane: work.Override, At: yesterday})
					}
					counted.Add(int64(len(emissions)))
					err = accounting.CountEmissions(t.Context(), emissions)
				case 4:
					_, err = pass.store.ChooseOverrides(t.Context(), pass.overrideOptions())
				case 5:
					ids := passRead[work.ID](pass, "SELECT id FROM adjourn.work WHERE state = 'admitted' AND lane = 'governed' ORDER BY random() LIMIT 5")
					for _, id := range ids {
						_, err = pass.store.Release(t.Context(), work.ReleaseOptions{
							WorkflowID: pass.anyCarrier(id), IDs: []work.ID{id}, Reason: "slot_expired",
						})
					}
					if err == nil {
						_, err = pass.store.Recover(t.Context(), passRecoverOptions())
					}
				}
				if err != nil {
					return fmt.Errorf("caller %d, round %d: %w", caller, round, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())

	figures := pass.figures()
	require.Equal(t, granted.Load(), figures["e granted"]+figures["o granted"])
	require.Equal(t, wouldDefer.Load(), figures["o would_defer"])
	require.Equal(t, counted.Load(), figures["x exempt"]+figures["e overridden"])
	require.EqualValues(t, pass.count("SELECT sum(count)::INTEGER FROM adjourn.quota_window"),
		granted.Load()+wouldDefer.Load()+counted.Load())
	require.EqualValues(t, pass.count("SELECT count(*) FROM adjourn.deferral"),
		figures["e deferred quota_full"]+figures["o deferred quota_full"])
	require.LessOrEqual(t, granted.Load(), int64(ceiling))
	require.Zero(t, figures["e would_defer"])
}

// anyCarrier is the workflow that carries a work, or none.
func (pass *pass) anyCarrier(id work.ID) string {
	pass.t.Helper()
	carriers := passRead[string](pass, "SELECT coalesce(workflow_id, '') FROM adjourn.work WHERE id = $1", id)
	if len(carriers) == 0 {
		return ""
	}
	return carriers[0]
}
