package postgres

import (
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

// TestFiguresNeverDeadlock: writers that bring the same figures in opposite orders
// lock them in one order.
func TestFiguresNeverDeadlock(t *testing.T) {
	t.Parallel()
	const writers, rounds, flows = 8, 40, 20
	pool, register := dbtest.New(t), NewRegister(hourly())
	forwards := make([]Figure, flows)
	for i := range forwards {
		forwards[i] = Figure{noon, "flow-" + string(rune('a'+i)), DecisionGranted, "", 1}
	}
	backwards := slices.Clone(forwards)
	slices.Reverse(backwards)
	var group sync.WaitGroup
	errs := make([]error, writers)
	for writer := range writers {
		group.Go(func() {
			figures := [2][]Figure{forwards, backwards}[writer%2]
			for range rounds {
				if err := register.AddFigures(t.Context(), pool, figures); err != nil {
					errs[writer] = err
					return
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	figures, err := register.Figures(t.Context(), pool, noon, 100)
	require.NoError(t, err)
	require.Len(t, figures, flows)
	for _, figure := range figures {
		require.EqualValues(t, writers*rounds, figure.Count)
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
