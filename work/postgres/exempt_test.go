package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/adjourn/adjourn/work"
)

// TestExemptTakesEveryFlowThatIsNotGoverned, declared or not, in dispatch order
// and chunks of one flow (A47, A57, G6).
func TestExemptTakesEveryFlowThatIsNotGoverned(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	acks := pass.submit("x", 3*time.Hour, time.Hour, 0)
	unknown := pass.submit("zzz", 2*time.Hour, -time.Hour)
	pass.submit("e", time.Hour)
	pass.submit("o", time.Hour)
	carriages := pass.exempt(2)
	require.Equal(t, []work.Carriage{
		{Lane: work.Exempt, WorkflowID: work.ExemptWorkflowID(unknown[1]), Works: pass.refsOf(unknown[1], unknown[0])},
		{Lane: work.Exempt, WorkflowID: work.ExemptWorkflowID(acks[1]), Works: pass.refsOf(acks[1], acks[0])},
		{Lane: work.Exempt, WorkflowID: work.ExemptWorkflowID(acks[2]), Works: pass.refsOf(acks[2])},
	}, carriages)
	for _, carriage := range carriages {
		for _, ref := range carriage.Works {
			require.Equal(t, "admitted exempt "+carriage.WorkflowID, pass.state(ref.ID))
		}
	}
	require.Empty(t, pass.exempt(2), "chosen once")
}

// refsOf are these works in this order.
func (pass *pass) refsOf(ids ...work.ID) []work.Ref {
	pass.t.Helper()
	var refs []work.Ref
	for _, id := range ids {
		for _, ref := range pass.refs() {
			if ref.ID == id {
				ref.Deadline = inUTC(ref.Deadline)
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// TestExemptWithoutAPolicy: nothing is governed, so everything is exempt.
func TestExemptWithoutAPolicy(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("e", time.Hour)
	carriages, err := pass.store.ChooseExempt(t.Context(), work.ExemptOptions{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, ids, carried(carriages))
}

// TestExemptIsBounded by its limit; a chunk below 1 is 1; back-offs wait.
func TestExemptIsBounded(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("x", time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour)
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 h' WHERE id = $1", ids[0])
	options := work.ExemptOptions{Governed: pass.policy.Governed(), Limit: 2}
	for _, want := range [][]work.ID{{ids[1], ids[2]}, {ids[3]}, {}} {
		carriages, err := pass.store.ChooseExempt(t.Context(), options)
		require.NoError(t, err)
		require.Equal(t, want, carried(carriages))
		require.Len(t, carriages, len(want))
	}
}

// TestExemptSkipsWhatIsHeld instead of waiting for it.
func TestExemptSkipsWhatIsHeld(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("x", time.Hour, 2*time.Hour)
	tx, err := pass.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.work WHERE id = $1 FOR UPDATE", ids[0])
	require.NoError(t, err)
	require.Equal(t, ids[1:], carried(pass.exempt(5)))
	require.NoError(t, tx.Rollback(t.Context()))
}

// TestUrgentLanesChooseEachWorkOnce however many passes choose at the same time.
func TestUrgentLanesChooseEachWorkOnce(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	var group errgroup.Group
	for range 60 {
		pass.exec("DELETE FROM adjourn.work")
		urgent := pass.submit("e", time.Minute, time.Minute, time.Minute, time.Minute)
		exempt := pass.submit("x", time.Minute, time.Minute, time.Minute, time.Minute)
		chosen := make([][]work.ID, 8)
		for caller := range chosen {
			group.Go(func() error {
				carriages, err := pass.store.ChooseOverrides(t.Context(), pass.overrideOptions())
				if caller%2 > 0 {
					carriages, err = pass.store.ChooseExempt(t.Context(),
						work.ExemptOptions{Governed: pass.policy.Governed(), Limit: 10, Chunk: 1})
				}
				chosen[caller] = carried(carriages)
				return err
			})
		}
		require.NoError(t, group.Wait())
		all := slices.Concat(chosen...)
		slices.Sort(all)
		require.Equal(t, all, slices.Compact(slices.Clone(all)))
		require.Subset(t, slices.Concat(urgent, exempt), all)
	}
}
