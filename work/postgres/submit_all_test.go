package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestSubmitAllGivesEachItsOwnFate: good ones are stored in their order, bad ones
// refused at their place, and repeats answered.
func TestSubmitAllGivesEachItsOwnFate(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	first := lane.submit(work.Submission{Flow: "f", IdempotencyKey: "known"})
	submissions := repeat(work.Submission{Flow: "f"}, 1200)
	bad := map[int]work.Submission{
		0:    {Flow: "Bad"},
		77:   {Flow: "f", IdempotencyKey: "a b"},
		78:   {Flow: "f\x00"},
		499:  {Flow: "f", IdempotencyKey: "known", Payload: []byte("other")},
		500:  {Flow: "f", ContentType: "\n"},
		1199: {Flow: "f", Stream: "S"},
	}
	for place, submission := range bad {
		submissions[place] = submission
	}
	submissions[300] = work.Submission{Flow: "f", IdempotencyKey: "known"}
	submissions[700] = work.Submission{Flow: "f", IdempotencyKey: "twice"}
	submissions[701] = work.Submission{Flow: "f", IdempotencyKey: "twice"}
	results := lane.store.SubmitAll(t.Context(), submissions)
	require.Len(t, results, len(submissions))
	last := first
	for place, result := range results {
		if _, isBad := bad[place]; isBad {
			require.ErrorAs(t, result.Err, new(*work.SubmissionError), place)
			require.Zero(t, result.Submitted, place)
			continue
		}
		require.NoError(t, result.Err, place)
		switch place {
		case 300:
			require.Equal(t, work.Submitted{ID: first}, result.Submitted)
		case 701:
			require.Equal(t, work.Submitted{ID: results[700].ID}, result.Submitted)
		default:
			require.True(t, result.Created, place)
			require.Greater(t, result.ID, last, "arrival is the order of the submissions (G4)")
			last = result.ID
		}
	}
	require.Len(t, lane.dump("work")["work"], 1+1200-len(bad)-2)
}

// TestSubmitAllIsPipelined: works travel together, five hundred or eight
// mebibytes at a time.
func TestSubmitAllIsPipelined(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, trace := lane.traced(nil)
	for _, result := range store.SubmitAll(t.Context(), repeat(work.Submission{Flow: "f"}, 1001)) {
		require.NoError(t, result.Err)
	}
	require.Equal(t, int64(3), trace.batches.Load())
	require.Equal(t, int64(1001), trace.batched.Load())
	require.Zero(t, trace.statements.Load())

	trace.batches.Store(0)
	heavy := work.Submission{Flow: "f", Payload: make([]byte, 3*mebibyte)}
	for _, result := range store.SubmitAll(t.Context(), repeat(heavy, 4)) {
		require.NoError(t, result.Err)
	}
	require.Equal(t, int64(2), trace.batches.Load())
}

// TestSubmitAllFindsOneBadAmongMany within some twenty round trips.
func TestSubmitAllFindsOneBadAmongMany(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, trace := lane.traced(nil)
	submissions := repeat(work.Submission{Flow: "f"}, 500)
	submissions[123].Flow = "Bad"
	results := store.SubmitAll(t.Context(), submissions)
	require.Error(t, results[123].Err)
	require.Len(t, lane.dump("work")["work"], 499)
	require.LessOrEqual(t, trace.batches.Load(), int64(20))
}

// TestSubmitAllStoresNothingTwice: a connection that breaks after the batch was
// sent leaves its fate unknown; handing it in again unasked would make second
// works of those without a key.
func TestSubmitAllStoresNothingTwice(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, trace := lane.traced(nil)
	lane.exec(`
		CREATE FUNCTION cut() RETURNS TRIGGER LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
		CREATE TRIGGER cut BEFORE INSERT ON adjourn.work FOR EACH ROW EXECUTE FUNCTION cut()`)
	for _, result := range store.SubmitAll(t.Context(), repeat(work.Submission{Flow: "f"}, 3)) {
		require.ErrorContains(t, result.Err, "terminating connection")
	}
	require.Equal(t, int64(1), trace.batches.Load())
}

// TestSubmitAllOfNothing asks nobody.
func TestSubmitAllOfNothing(t *testing.T) {
	t.Parallel()
	require.Empty(t, New(nil).SubmitAll(t.Context(), nil))
}

// TestSubmitAllStopsWithItsContext: every submission gets an answer all the same.
func TestSubmitAllStopsWithItsContext(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results := lane.store.SubmitAll(ctx, repeat(work.Submission{Flow: "f"}, 1100))
	require.Len(t, results, 1100)
	for _, result := range results {
		require.ErrorIs(t, result.Err, context.Canceled)
	}
}

// TestSubmitAllSurvivesADeadlock of batches that hold the same keys in opposite
// orders: in the end each key is one work.
func TestSubmitAllSurvivesADeadlock(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, _ := lane.traced(func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["deadlock_timeout"] = "10ms"
	})
	const keys = 200
	forwards := make([]work.Submission, keys)
	for i := range forwards {
		forwards[i] = work.Submission{Flow: "f", IdempotencyKey: fmt.Sprintf("k-%d", i)}
	}
	backwards := slices.Clone(forwards)
	slices.Reverse(backwards)
	answers := make([][]SubmitResult, 4)
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range answers {
		group.Go(func() {
			<-start
			answers[i] = store.SubmitAll(t.Context(), [][]work.Submission{forwards, backwards}[i%2])
		})
	}
	close(start)
	group.Wait()
	for i, results := range answers {
		if i%2 == 1 {
			slices.Reverse(results)
		}
		for place, result := range results {
			require.NoError(t, result.Err)
			require.Equal(t, answers[0][place].ID, result.ID, "one key, one work")
		}
	}
	require.Len(t, lane.dump("work")["work"], keys)
}

// TestDeadlockIsUndone: what the server says of a deadlock sends the parts again,
// what it says of a lock that took too long does not.
func TestDeadlockIsUndone(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	raise := func(code string) error {
		return submissionError(pgx.BeginFunc(t.Context(), lane.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '"+code+"'; END $$")
			return err
		}))
	}
	require.True(t, wasUndone(raise(deadlockDetected)))
	require.True(t, wasUndone(raise(serializationFailure)))
	require.False(t, wasUndone(raise("55P03")))
	require.False(t, wasUndone(context.DeadlineExceeded))
}
