package postgres

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestKeyRepeated answers with the first work, whatever has become of it.
func TestKeyRepeated(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	submission := work.Submission{Flow: "f", Payload: []byte("x"), IdempotencyKey: "k"}
	id := lane.submit(submission)
	later := submission
	later.Deadline, later.ContentType = lane.now().Add(time.Hour), "text/plain" // not part of what a key stands for
	for _, repeated := range []work.Submission{submission, later} {
		submitted, err := Submit(t.Context(), lane.pool, repeated)
		require.NoError(t, err)
		require.Equal(t, work.Submitted{ID: id, Created: false}, submitted)
	}
	require.True(t, lane.get(id).Deadline.IsZero(), "the first stands as it was")
	lane.record(work.Exempt, ending(lane.attempt(work.Exempt, id), work.OutcomeEmitted))
	submitted, err := Submit(t.Context(), lane.pool, submission)
	require.NoError(t, err)
	require.Equal(t, work.Submitted{ID: id, Created: false}, submitted, "once emitted too")
}

// TestKeyClashes when it comes with another flow, stream or payload.
func TestKeyClashes(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.submit(work.Submission{Flow: "f", Payload: []byte("x"), IdempotencyKey: "k"})
	for _, other := range []work.Submission{
		{Flow: "g", Payload: []byte("x")},
		{Flow: "f", Payload: []byte("y")},
		{Flow: "f"},
		{Flow: "f", Payload: []byte("x"), Stream: "s"},
	} {
		other.IdempotencyKey = "k"
		_, err := Submit(t.Context(), lane.pool, other)
		refusal := new(work.SubmissionError)
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "idempotency_key", refusal.Field)
		require.Equal(t, "idempotency_key 'k': already used by work "+id.String()+
			" for another flow, stream or payload", refusal.Message)
	}
	require.Len(t, lane.dump("work")["work"], 1)
}

// TestKeyIsOneWorkHoweverManyAtOnce: of twenty submissions at the same time one
// creates the work, and all name it.
func TestKeyIsOneWorkHoweverManyAtOnce(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	const callers = 20
	results := make([]work.Submitted, callers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		group.Go(func() {
			<-start
			submitted, err := Submit(t.Context(), lane.pool, work.Submission{Flow: "f", IdempotencyKey: "k"})
			if err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
			results[caller] = submitted
		})
	}
	close(start)
	group.Wait()
	created := 0
	for _, result := range results {
		require.Equal(t, results[0].ID, result.ID)
		if result.Created {
			created++
		}
	}
	require.Equal(t, 1, created)
	require.Len(t, lane.dump("work")["work"], 1)
}

// TestKeyWaitsForTheOther transaction that holds it: rolled back, the key is free;
// committed, it is taken.
func TestKeyWaitsForTheOther(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"committed": true, "rolled back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane := newLane(t)
			submission := work.Submission{Flow: "f", IdempotencyKey: "k"}
			tx, err := lane.pool.Begin(t.Context())
			require.NoError(t, err)
			defer rollBack(t.Context(), tx)
			first, err := Submit(t.Context(), tx, submission)
			require.NoError(t, err)
			second := make(chan SubmitResult, 1)
			go func() {
				submitted, err := Submit(t.Context(), lane.pool, submission)
				second <- SubmitResult{submitted, err}
			}()
			lane.waitsForLock()
			if commits {
				require.NoError(t, tx.Commit(t.Context()))
			} else {
				require.NoError(t, tx.Rollback(t.Context()))
			}
			result := <-second
			require.NoError(t, result.Err)
			require.Equal(t, !commits, result.Created)
			require.Equal(t, commits, result.ID == first.ID)
		})
	}
}
