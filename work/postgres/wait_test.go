package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestWindowThatEndsDuringTheWaitIsOver: the clock is read once the works are
// held, not when the statement arrived (G1).
func TestWindowThatEndsDuringTheWaitIsOver(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 2)
	lane.admit(work.Governed, "w", ids...)
	tx, err := lane.pool.Begin(t.Context())
	require.NoError(t, err)
	defer rollBack(t.Context(), tx)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.work FOR UPDATE")
	require.NoError(t, err)
	answer := make(chan work.Begun, 1)
	go func() {
		begun, err := lane.store.Begin(t.Context(), beginOptions(work.Governed, "w", ids...))
		if err != nil {
			t.Errorf("begin: %v", err)
		}
		answer <- begun
	}()
	lane.waitsForLock()
	waitedUntil := lane.now()
	// As if the second work's window had ended while the statement waited.
	_, err = tx.Exec(t.Context(), `UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h' WHERE id = $1`, ids[1])
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	begun := <-answer
	require.Len(t, begun.Attempts, 1)
	require.True(t, begun.Attempts[0].BegunAt.After(waitedUntil), "%s, %s", begun.Attempts[0].BegunAt, waitedUntil)
	require.Len(t, begun.Refused, 1, "what changed during the wait is seen")
}

// TestChangeDuringTheWaitIsSeen: a work that was touched, released or cancelled
// while Begin waited for it is begun as it is then, or gone.
func TestChangeDuringTheWaitIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"touched":   "UPDATE adjourn.work SET carried_since = clock_timestamp(), attempts = 7",
		"taken":     "UPDATE adjourn.work SET workflow_id = 'another'",
		"cancelled": "DELETE FROM adjourn.work",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane := newLane(t)
			ids := lane.works("f", 3)
			lane.admit(work.Exempt, "w", ids...)
			tx, err := lane.pool.Begin(t.Context())
			require.NoError(t, err)
			defer rollBack(t.Context(), tx)
			_, err = tx.Exec(t.Context(), change+" WHERE id = $1", ids[1])
			require.NoError(t, err)
			answer := make(chan work.Begun, 1)
			go func() {
				begun, err := lane.store.Begin(t.Context(), beginOptions(work.Exempt, "w", ids...))
				if err != nil {
					t.Errorf("begin: %v", err)
				}
				answer <- begun
			}()
			lane.waitsForLock()
			require.NoError(t, tx.Commit(t.Context()))
			begun := <-answer
			if name != "touched" {
				require.Len(t, begun.Attempts, 2)
				require.Equal(t, []work.ID{ids[1]}, begun.Gone)
				require.Equal(t, []int64{1, 2}, numbers(begun.Attempts), "without a gap")
				return
			}
			require.Equal(t, []int64{1, 2, 3}, numbers(begun.Attempts))
			require.Equal(t, 8, begun.Attempts[1].Sequence)
			require.Equal(t, 8, lane.get(ids[1]).Attempts)
			require.Equal(t, int64(2), lane.get(ids[1]).Number)
		})
	}
}
