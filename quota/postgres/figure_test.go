package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestFiguresAddUp: counts of one key are summed, within a call and across calls;
// zero and negative counts leave no row; any instant counts in its window.
func TestFiguresAddUp(t *testing.T) {
	t.Parallel()
	pool, register := dbtest.New(t), NewRegister(hourly())
	require.NoError(t, register.AddFigures(t.Context(), pool, nil))
	require.NoError(t, register.AddFigures(t.Context(), pool, []Figure{
		{noon, "invoice", DecisionGranted, "", 3},
		{noon.Add(59 * time.Minute), "invoice", DecisionGranted, "", 4},
		{noon, "invoice", DecisionDeferred, string(quota.ReasonQuotaFull), 2},
		{noon, "status", DecisionWouldDefer, "", 0},
		{noon, "status", DecisionExempt, "", -5},
		{noon.Add(time.Hour), "ack", DecisionExempt, "", 1},
	}))
	require.NoError(t, register.AddFigures(t.Context(), pool, []Figure{
		{noon, "invoice", DecisionGranted, "", 10},
		{noon, "invoice", DecisionOverridden, "", 1},
	}))
	require.NoError(t, register.AddFigures(t.Context(), pool, []Figure{{noon, "status", DecisionExempt, "", 0}}))
	want := []Figure{
		{noon.Add(time.Hour), "ack", DecisionExempt, "", 1},
		{noon, "invoice", DecisionDeferred, string(quota.ReasonQuotaFull), 2},
		{noon, "invoice", DecisionGranted, "", 17},
		{noon, "invoice", DecisionOverridden, "", 1},
	}
	list := func(since time.Time, limit int) []Figure {
		figures, err := register.Figures(t.Context(), pool, since, limit)
		require.NoError(t, err)
		return figures
	}
	require.Equal(t, want, list(noon, 100))
	require.Equal(t, want[:2], list(noon, 2))
	require.Equal(t, want[:1], list(noon.Add(time.Microsecond), 100))
	require.Empty(t, list(noon, 0))
	require.Empty(t, list(noon, -1))
}

func TestFiguresRefuseAnUnknownDecision(t *testing.T) {
	t.Parallel()
	pool, register := dbtest.New(t), NewRegister(hourly())
	err := register.AddFigures(t.Context(), pool, []Figure{{noon, "invoice", "perhaps", "", 1}})
	require.ErrorContains(t, err, "add quota figures")
	require.ErrorContains(t, err, "quota_figure_decision_known")
}

// TestFiguresAreLockedInOneOrder: whatever order a caller brings, rows are written
// in the order of their key, so that two writers never wait for each other.
func TestFiguresAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	const seed, flows = 3, 60
	pool, register := dbtest.New(t), NewRegister(hourly())
	figures := make([]Figure, flows)
	for i := range figures {
		figures[i] = Figure{noon, fmt.Sprintf("flow-%02d", i), DecisionGranted, "", 1}
	}
	random := rand.New(rand.NewPCG(seed, seed))
	random.Shuffle(flows, func(i, j int) { figures[i], figures[j] = figures[j], figures[i] })
	require.NoError(t, register.AddFigures(t.Context(), pool, figures))
	written := read[[]string](t, pool, "SELECT array_agg(flow ORDER BY ctid) FROM adjourn.quota_figure")
	require.True(t, slices.IsSorted(written), "written in the order %v", written)

	const writers, rounds = 8, 20
	backwards := slices.Clone(figures)
	slices.Reverse(backwards)
	var group sync.WaitGroup
	errs := make([]error, writers)
	for writer := range writers {
		group.Go(func() {
			for range rounds {
				errs[writer] = errors.Join(errs[writer],
					register.AddFigures(t.Context(), pool, [2][]Figure{figures, backwards}[writer%2]))
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	added, err := register.Figures(t.Context(), pool, noon, 100)
	require.NoError(t, err)
	require.Len(t, added, flows)
	for _, figure := range added {
		require.EqualValues(t, writers*rounds+1, figure.Count)
	}
}

func TestWindowsLatestFirst(t *testing.T) {
	t.Parallel()
	pool, register := dbtest.New(t), NewRegister(hourly())
	for i := range 3 {
		require.NoError(t, register.Charge(t.Context(), pool, noon.Add(time.Duration(i)*time.Hour), i+1))
	}
	list := func(since time.Time, limit int) (starts []time.Time, counts []int) {
		windows, err := register.Windows(t.Context(), pool, since, limit)
		require.NoError(t, err)
		for _, usage := range windows {
			require.Equal(t, time.Hour, usage.Window.Length)
			require.False(t, usage.Now.IsZero())
			starts, counts = append(starts, usage.Window.Start), append(counts, usage.Count)
		}
		return starts, counts
	}
	starts, counts := list(noon, 100)
	require.Equal(t, []time.Time{noon.Add(2 * time.Hour), noon.Add(time.Hour), noon}, starts)
	require.Equal(t, []int{3, 2, 1}, counts)
	_, counts = list(noon.Add(time.Hour), 100)
	require.Equal(t, []int{3, 2}, counts)
	_, counts = list(noon, 1)
	require.Equal(t, []int{3}, counts)
	_, counts = list(noon, -1)
	require.Empty(t, counts)
}
