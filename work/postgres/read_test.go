package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

func (lane *lane) list(options work.ListOptions) []work.ID {
	lane.t.Helper()
	works, err := lane.store.List(lane.t.Context(), options)
	require.NoError(lane.t, err)
	ids := []work.ID{}
	for _, found := range works {
		ids = append(ids, found.ID)
	}
	return ids
}

// TestListChooses by state, flow, lane and reason, newest first, finished works
// among the others.
func TestListChooses(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	byState := map[work.State][]work.ID{}
	byLane := map[work.Lane][]work.ID{}
	var all []work.ID
	for _, where := range stands() {
		id := lane.put(where)
		all = append(all, id)
		byState[where.state] = append(byState[where.state], id)
		byLane[lane.get(id).Lane] = append(byLane[lane.get(id).Lane], id)
	}
	other := lane.submit(work.Submission{Flow: "g"})
	all = append(all, other)
	byState[work.Pending] = append(byState[work.Pending], other)
	newestFirst := func(ids []work.ID) []work.ID {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		slices.Reverse(ids)
		return ids
	}
	require.Equal(t, newestFirst(all), lane.list(work.ListOptions{}))
	for _, state := range work.States() {
		require.Equal(t, newestFirst(byState[state]), lane.list(work.ListOptions{States: []work.State{state}}), state)
	}
	require.Equal(t, newestFirst(slices.Concat(byState[work.Failed], byState[work.Emitted])),
		lane.list(work.ListOptions{States: []work.State{work.Failed, work.Emitted}}))
	for _, name := range work.Lanes() {
		require.Equal(t, newestFirst(byLane[name]), lane.list(work.ListOptions{Lane: name}), name)
	}
	require.Equal(t, []work.ID{other}, lane.list(work.ListOptions{Flow: "g"}))
	require.Empty(t, lane.list(work.ListOptions{Flow: "unheard-of"}))
	lane.exec("UPDATE adjourn.work SET reason = 'rejected' WHERE state = 'failed'")
	require.Equal(t, byState[work.Failed], lane.list(work.ListOptions{Reason: "rejected"}))
	require.Empty(t, lane.list(work.ListOptions{Reason: "rejected", States: []work.State{work.Pending}}))
	for _, id := range all {
		works, err := lane.store.List(t.Context(), work.ListOptions{Before: id + 1, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []work.Work{lane.get(id)}, works, "the list shows what get shows")
	}
}

// TestListGoesPageByPage: each work once, whatever arrives meanwhile.
func TestListGoesPageByPage(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 120)
	for i, id := range ids {
		if i%3 == 0 {
			require.NoError(t, lane.store.Cancel(t.Context(), id))
		}
	}
	require.Len(t, lane.list(work.ListOptions{}), work.ListLimit)
	require.Len(t, lane.list(work.ListOptions{Limit: -1}), work.ListLimit)
	var seen []work.ID
	before := work.ID(0)
	for {
		page := lane.list(work.ListOptions{Limit: 17, Before: before})
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 17)
		seen = append(seen, page...)
		before = page[len(page)-1]
		lane.works("f", 1)
	}
	slices.Reverse(ids)
	require.Equal(t, ids, seen)
}

// TestListReadsNoFurtherThanItsPage: neither table is sorted as a whole, and one
// that cannot hold the asked states is not read at all.
func TestListReadsNoFurtherThanItsPage(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	lane.exec(`
		INSERT INTO adjourn.work_archive (id, flow, stream, idempotency_key, state, lane, number, attempts, created_at)
		SELECT i, 'f', 'f', i::TEXT, 'emitted', 'exempt', i, 1, now() FROM generate_series(1, 20000) AS i;
		INSERT INTO adjourn.work (flow, stream, idempotency_key)
		SELECT 'f', 'f', i::TEXT FROM generate_series(1, 20000) AS i;
		ANALYZE adjourn.work, adjourn.work_archive`)
	plan := func(states []string) []string {
		// As List asks it: planned for these values.
		return laneRead[string](lane, "EXPLAIN "+listSQL, pgx.QueryExecModeCacheDescribe, states, nil, nil, nil, nil, 50)
	}
	all := strings.Join(plan(nil), "\n")
	require.Contains(t, all, "Merge Append")
	require.Contains(t, all, "Index Scan Backward using work_pkey")
	require.Contains(t, all, "Index Scan Backward using work_archive_pkey")
	require.NotContains(t, all, "Sort  (")
	failed := strings.Join(plan([]string{"failed"}), "\n")
	require.Contains(t, failed, "Index Scan Backward using work_failed")
	require.NotContains(t, failed, "work_archive")
}

// TestTimesAreUTC wherever the program runs.
func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.submit(work.Submission{Flow: "f", Deadline: lane.now().Add(time.Hour)})
	lane.admit(work.Governed, "w", id)
	begun := lane.begin(work.Governed, "w", id).Attempts[0]
	lane.exec(`INSERT INTO adjourn.deferral (window_start, work_id, flow, reason) VALUES (now(), $1, 'f', 'quota_full')`, id)
	attempting := lane.get(id)
	lane.record(work.Governed, ending(begun, work.OutcomeEmitted))
	emitted := lane.get(id)
	made := lane.attempts(id)[0]
	deferrals, err := lane.store.Deferrals(t.Context(), id, 1)
	require.NoError(t, err)
	counts, err := lane.store.Counts(t.Context())
	require.NoError(t, err)
	for _, instant := range []time.Time{
		begun.BegunAt, begun.Work.Deadline, attempting.Deadline, attempting.CreatedAt, attempting.CarriedSince,
		attempting.SlotStart, attempting.AttemptBegunAt, attempting.AttemptExpiresAt, emitted.FinishedAt,
		made.BegunAt, made.EndedAt, made.SlotStart, deferrals[0].At, deferrals[0].WindowStart, counts[0].Oldest,
	} {
		require.False(t, instant.IsZero())
		require.Equal(t, time.UTC, instant.Location())
	}
}

// TestAttemptsAndDeferralsAreBounded, latest first.
func TestAttemptsAndDeferralsAreBounded(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id, other := lane.works("f", 1)[0], lane.works("f", 1)[0]
	for range 5 {
		lane.record(work.Governed, ending(lane.attempt(work.Governed, id), work.OutcomeSpent))
	}
	lane.exec(`
		INSERT INTO adjourn.deferral (window_start, work_id, flow, reason)
		SELECT TIMESTAMPTZ '2026-12-01 00:00Z' + i * INTERVAL '1 h', work_id, 'f', 'reason-' || i
		  FROM generate_series(1, 5) AS i, unnest($1::BIGINT[]) AS work_id`, []work.ID{id, other})
	made, err := lane.store.Attempts(t.Context(), id, 3)
	require.NoError(t, err)
	sequences := []int{}
	for _, attempt := range made {
		sequences = append(sequences, attempt.Sequence)
	}
	require.Equal(t, []int{5, 4, 3}, sequences)
	deferrals, err := lane.store.Deferrals(t.Context(), id, 2)
	require.NoError(t, err)
	require.Len(t, deferrals, 2)
	require.Equal(t, "reason-5", deferrals[0].Reason)
	require.Equal(t, time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC), deferrals[1].WindowStart)
	for _, limit := range []int{0, -1} {
		made, err = lane.store.Attempts(t.Context(), id, limit)
		require.NoError(t, err)
		require.Empty(t, made)
		deferrals, err = lane.store.Deferrals(t.Context(), id, limit)
		require.NoError(t, err)
		require.Empty(t, deferrals)
	}
}

// TestCounts by flow and state, with the one that waits longest.
func TestCounts(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for _, where := range stands() {
		lane.put(where)
	}
	first := lane.get(lane.submit(work.Submission{Flow: "g"}))
	lane.submit(work.Submission{Flow: "g"})
	counts, err := lane.store.Counts(t.Context())
	require.NoError(t, err)
	works := map[string]int64{}
	for _, count := range counts {
		require.False(t, count.Oldest.IsZero())
		works[count.Flow+" "+string(count.State)] = count.Works
	}
	require.Equal(t, map[string]int64{
		"f pending": 1, "f admitted": 3, "f attempting": 3, "f emitted": 1, "f failed": 1, "f cancelled": 1,
		"g pending": 2,
	}, works)
	waiting, err := lane.store.Waiting(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, work.Count{Flow: "g", State: work.Pending, Works: 2, Oldest: first.CreatedAt}, waiting[1])
	flows, err := lane.store.Flows(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"f", "g"}, flows)
}
