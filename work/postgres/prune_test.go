package postgres

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestPruneForgetsWhatIsOld, all of it, oldest first and bounded, and touches
// nothing else.
func TestPruneForgetsWhatIsOld(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	var old []work.ID
	for range 5 {
		id := lane.put(stand{work.Emitted, work.Governed})
		old = append(old, id)
		lane.exec("INSERT INTO adjourn.deferral (window_start, work_id, flow, reason) VALUES (now(), $1, 'f', 'quota_full')", id)
		lane.exec("UPDATE adjourn.work_archive SET finished_at = now() - INTERVAL '1 day' - $2 * INTERVAL '1 min' WHERE id = $1", id, 10-len(old))
	}
	cancelled := lane.put(stand{work.Cancelled, ""})
	lane.exec("UPDATE adjourn.work_archive SET finished_at = now() - INTERVAL '1 day' WHERE id = $1", cancelled)
	old = append(old, cancelled)
	fresh := lane.put(stand{work.Emitted, work.Governed})
	var unfinished []work.ID
	for _, where := range stands() {
		if !where.state.Finished() {
			unfinished = append(unfinished, lane.put(where))
		}
	}
	lane.exec("UPDATE adjourn.work SET created_at = now() - INTERVAL '1 year', changed_at = now() - INTERVAL '1 year'")

	prune := func(retention time.Duration, limit int) int {
		pruned, err := lane.store.Prune(t.Context(), retention, limit)
		require.NoError(t, err)
		return pruned
	}
	require.Zero(t, prune(0, 100), "no retention keeps everything")
	require.Zero(t, prune(-time.Hour, 100))
	require.Zero(t, prune(48*time.Hour, 100))
	require.Zero(t, prune(time.Hour, 0))
	require.Equal(t, 2, prune(time.Hour, 2))
	_, err := lane.store.Get(t.Context(), old[1])
	require.ErrorIs(t, err, work.ErrNotFound, "the oldest go first")
	require.Equal(t, work.Emitted, lane.get(old[2]).State)
	require.Equal(t, 4, prune(time.Hour, 100))
	require.Zero(t, prune(time.Hour, 100))

	for _, id := range old {
		_, err := lane.store.Get(t.Context(), id)
		require.ErrorIs(t, err, work.ErrNotFound)
	}
	require.Empty(t, laneRead[work.ID](lane, "SELECT work_id FROM adjourn.work_attempt WHERE work_id = ANY($1)", old))
	require.NotEmpty(t, lane.attempts(fresh))
	kept := 1 + len(unfinished)
	for table, rows := range map[string]int{
		"work_archive": 1, "work": len(unfinished), "work_payload": kept, "work_key": kept, "deferral": 0,
	} {
		require.Len(t, lane.dump(table)[table], rows, table)
	}
}

// TestKeyOfAForgottenWorkIsFree: its retention is how long a repeat is known.
func TestKeyOfAForgottenWorkIsFree(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	submission := work.Submission{Flow: "f", IdempotencyKey: "k"}
	id := lane.submit(submission)
	require.NoError(t, lane.store.Cancel(t.Context(), id))
	lane.exec("UPDATE adjourn.work_archive SET finished_at = now() - INTERVAL '1 day'")
	pruned, err := lane.store.Prune(t.Context(), time.Hour, 1)
	require.NoError(t, err)
	require.Equal(t, 1, pruned)
	submitted, err := Submit(t.Context(), lane.pool, submission)
	require.NoError(t, err)
	require.True(t, submitted.Created)
	require.NotEqual(t, id, submitted.ID)
}

// TestPrunesShareTheWork instead of waiting for each other.
func TestPrunesShareTheWork(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for _, id := range lane.works("f", 200) {
		require.NoError(t, lane.store.Cancel(t.Context(), id))
	}
	lane.exec("UPDATE adjourn.work_archive SET finished_at = now() - INTERVAL '1 day'")
	pruned := make([]int, 4)
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range pruned {
		group.Go(func() {
			<-start
			for range 10 {
				count, err := lane.store.Prune(t.Context(), time.Hour, 10)
				if err != nil {
					t.Errorf("prune: %v", err)
				}
				pruned[i] += count
			}
		})
	}
	close(start)
	group.Wait()
	left := lane.dump("work_archive")["work_archive"]
	require.Equal(t, 200, pruned[0]+pruned[1]+pruned[2]+pruned[3]+len(left), "each forgotten once")
	require.Empty(t, left)
}
