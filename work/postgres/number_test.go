package postgres

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestNumbersFollowTheDeadlines within one call, earliest first, each stream by
// itself from one on (G4, G5).
func TestNumbersFollowTheDeadlines(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	now := lane.now()
	var ids []work.ID
	for _, given := range []struct {
		stream string
		hours  int // until the deadline; none when zero
	}{{"a", 0}, {"b", 5}, {"a", 3}, {"a", 1}, {"b", 0}, {"a", 3}, {"c", 0}, {"a", -1}} {
		submission := work.Submission{Flow: "f", Stream: given.stream}
		if given.hours != 0 {
			submission.Deadline = now.Add(time.Duration(given.hours) * time.Hour)
		}
		ids = append(ids, lane.submit(submission))
	}
	lane.admit(work.Override, "w", ids...)
	begun := lane.begin(work.Override, "w", ids...)
	require.True(t, slices.IsSortedFunc(begun.Attempts, func(a, b work.Attempt) int {
		return work.Compare(a.Work, b.Work)
	}), "attempts come in dispatch order")
	got := map[work.ID]string{}
	for _, attempt := range begun.Attempts {
		got[attempt.Work.ID] = fmt.Sprint(attempt.Stream, attempt.Number)
	}
	require.Equal(t, map[work.ID]string{
		ids[7]: "a1", ids[3]: "a2", ids[2]: "a3", ids[5]: "a4", ids[0]: "a5",
		ids[1]: "b1", ids[4]: "b2", ids[6]: "c1",
	}, got)
}

// TestNumberIsKept through every try and every lane; only works without one take
// the next (G5).
func TestNumberIsKept(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 4)
	first := lane.attempt(work.Governed, ids[2])
	require.Equal(t, int64(1), first.Number)
	lane.record(work.Governed, ending(first, work.OutcomeSpent))
	second := lane.attempt(work.Override, ids[2])
	require.Equal(t, int64(1), second.Number)
	require.Equal(t, 2, second.Sequence)
	lane.record(work.Override, ending(second, work.OutcomeFailed))
	require.NoError(t, lane.store.Retry(t.Context(), ids[2]))
	lane.admit(work.Exempt, "w", ids...)
	begun := lane.begin(work.Exempt, "w", ids...)
	require.Equal(t, []int64{2, 3, 1, 4}, numbers(begun.Attempts))
	require.Equal(t, 3, begun.Attempts[2].Sequence)
	require.Equal(t, []int64{4}, laneRead[int64](lane, "SELECT last FROM adjourn.sequence"))
}

// TestRefusalsTakeNoNumber: after a hundred refused slots the first work that goes
// is number one (A35, A36).
func TestRefusalsTakeNoNumber(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 101)
	lane.admit(work.Governed, "w", ids[:100]...)
	lane.exec("UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h'")
	require.Len(t, lane.begin(work.Governed, "w", ids[:100]...).Refused, 100)
	require.Empty(t, lane.dump("sequence")["sequence"])
	require.Equal(t, int64(1), lane.attempt(work.Governed, ids[100]).Number)
	require.Equal(t, []int{0}, laneRead[int](lane, "SELECT sum(attempts) FROM adjourn.work WHERE id <> $1", ids[100]))
}

// TestNumbersAreGaplessHoweverManyBegin: eight callers begin overlapping works of
// three streams at once, in random groups; each work is begun once, each stream's
// numbers run from one without a gap, and nobody is stuck (G5).
func TestNumbersAreGaplessHoweverManyBegin(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	const callers, works = 8, 120
	var ids []work.ID
	for i := range works {
		ids = append(ids, lane.submit(work.Submission{Flow: "f", Stream: fmt.Sprint("s", i%3)}))
	}
	lane.admit(work.Exempt, "w", ids...)
	attempts := make([][]work.Attempt, callers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		random := rand.New(rand.NewPCG(7, uint64(caller)))
		group.Go(func() {
			<-start
			for range 12 {
				asked := slices.Clone(ids)
				random.Shuffle(works, func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
				begun, err := lane.store.Begin(t.Context(), beginOptions(work.Exempt, "w", asked[:25]...))
				if err != nil {
					t.Errorf("caller %d: %v", caller, err)
					return
				}
				if len(begun.Attempts)+len(begun.Busy) != 25 {
					t.Errorf("caller %d: %d begun and %d busy of 25", caller, len(begun.Attempts), len(begun.Busy))
				}
				attempts[caller] = append(attempts[caller], begun.Attempts...)
			}
		})
	}
	close(start)
	group.Wait()
	seen := map[work.ID]bool{}
	streams := map[string][]int64{}
	for _, attempt := range slices.Concat(attempts...) {
		require.False(t, seen[attempt.Work.ID], "work %d was begun twice", attempt.Work.ID)
		seen[attempt.Work.ID] = true
		streams[attempt.Stream] = append(streams[attempt.Stream], attempt.Number)
	}
	require.Len(t, streams, 3)
	for stream, given := range streams {
		slices.Sort(given)
		for i, number := range given {
			require.Equal(t, int64(i+1), number, "stream %s", stream)
		}
		require.Equal(t, []int64{int64(len(given))},
			laneRead[int64](lane, "SELECT last FROM adjourn.sequence WHERE stream = $1", stream))
	}
}

// TestFailedBeginTakesNoNumber: what a statement allocated goes back with it.
func TestFailedBeginTakesNoNumber(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 3)
	lane.admit(work.Exempt, "w", ids...)
	lane.exec("ALTER TABLE adjourn.work ADD CONSTRAINT mishap CHECK (state <> 'attempting' OR id <> " + ids[2].String() + ")")
	_, err := lane.store.Begin(t.Context(), beginOptions(work.Exempt, "w", ids...))
	require.ErrorContains(t, err, "mishap")
	require.Equal(t, []int64{1, 2}, numbers(lane.begin(work.Exempt, "w", ids[:2]...).Attempts))
}
