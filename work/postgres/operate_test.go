package postgres

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestCancelKeepsWhatWasKnown of the work, its number above all.
func TestCancelKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.put(stand{work.Failed, ""})
	before := lane.get(id)
	asked := lane.now()
	require.NoError(t, lane.store.Cancel(t.Context(), id))
	found := lane.get(id)
	require.WithinRange(t, found.FinishedAt, asked, lane.now())
	want := before
	want.State, want.FinishedAt, want.AttemptBegunAt = work.Cancelled, found.FinishedAt, time.Time{}
	require.Equal(t, want, found)
	require.Equal(t, before.Number+1, lane.attempt(work.Exempt, lane.works("f", 1)[0]).Number)
}

// TestCancelIsSeenByTheLane: the work its workflow carries is gone.
func TestCancelIsSeenByTheLane(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	lane.admit(work.Exempt, "w", id)
	require.NoError(t, lane.store.Cancel(t.Context(), id))
	require.Equal(t, work.Begun{Gone: []work.ID{id}}, lane.begin(work.Exempt, "w", id))
}

// TestRetryIsANewStart with the same number and key.
func TestRetryIsANewStart(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.put(stand{work.Failed, ""})
	before := lane.get(id)
	require.NoError(t, lane.store.Retry(t.Context(), id))
	want := before
	want.State, want.Reason = work.Pending, "operator_retry"
	require.Equal(t, want, lane.get(id))
	attempt := lane.attempt(work.Governed, id)
	require.Equal(t, before.Number, attempt.Number)
	require.Equal(t, 2, attempt.Sequence)
	require.Equal(t, before.IdempotencyKey, attempt.IdempotencyKey)
}

// TestOperateOnNothing is told apart from a state that does not allow it.
func TestOperateOnNothing(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	require.ErrorIs(t, lane.store.Cancel(t.Context(), 1<<40), work.ErrNotFound)
	require.ErrorIs(t, lane.store.Retry(t.Context(), -1), work.ErrNotFound)
	_, err := lane.store.Get(t.Context(), 0)
	require.ErrorIs(t, err, work.ErrNotFound)
	require.EqualError(t, err, "work 0: no such work")
}

// TestOneOfTwoOperatorsSucceeds, and the other learns that it came late.
func TestOneOfTwoOperatorsSucceeds(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for range 10 {
		id := lane.put(stand{work.Failed, ""})
		results := make([]error, 6)
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range results {
			group.Go(func() {
				<-start
				results[i] = lane.store.Cancel(t.Context(), id)
			})
		}
		close(start)
		group.Wait()
		succeeded := 0
		for _, err := range results {
			if err == nil {
				succeeded++
				continue
			}
			refusal := new(work.StateError)
			require.True(t, errors.As(err, &refusal), "%v", err)
			require.Equal(t, work.Cancelled, refusal.State)
		}
		require.Equal(t, 1, succeeded)
	}
}

// TestReleaseGivesBack only what that workflow holds and has not begun.
func TestReleaseGivesBack(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 5)
	lane.admit(work.Governed, "w", ids[:3]...)
	lane.admit(work.Governed, "another", ids[3])
	lane.admit(work.Override, "w", ids[4])
	lane.begin(work.Governed, "w", ids[2])
	options := work.ReleaseOptions{WorkflowID: "w", IDs: ids, Reason: "cadence"}
	released, err := lane.store.Release(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, ids[:2], released)
	for _, id := range released {
		found := lane.get(id)
		require.Equal(t, work.Work{
			ID: id, Flow: "f", Stream: "f", IdempotencyKey: found.IdempotencyKey, State: work.Pending,
			Outcome: work.OutcomeDeferred, Reason: "cadence", CreatedAt: found.CreatedAt,
		}, found)
	}
	require.Equal(t, work.Attempting, lane.get(ids[2]).State)
	require.Equal(t, "another", lane.get(ids[3]).WorkflowID)
	require.Equal(t, work.Admitted, lane.get(ids[4]).State)
	released, err = lane.store.Release(t.Context(), options)
	require.NoError(t, err)
	require.Empty(t, released)
	released, err = lane.store.Release(t.Context(), work.ReleaseOptions{WorkflowID: "w"})
	require.NoError(t, err)
	require.Empty(t, released)
}

// TestPoolsAreBounded: no statement waits for ever, and whoever looks at the
// server sees whose connection it is.
func TestPoolsAreBounded(t *testing.T) {
	t.Parallel()
	config := newLane(t).pool.Config()
	ConfigurePool(config, "adjourn-exempt")
	require.Positive(t, config.ConnConfig.ConnectTimeout)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	for name, want := range map[string]string{
		"lock_timeout": "2s", "statement_timeout": "10s",
		"idle_in_transaction_session_timeout": "5s", "application_name": "adjourn-exempt",
	} {
		var got string
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got))
		require.Equal(t, want, got, name)
	}
}

// TestNowNamesNoTable: the clock can be asked while the quota is broken.
func TestNowNamesNoTable(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	before := lane.now()
	lane.exec("DROP SCHEMA adjourn CASCADE")
	after := lane.now()
	require.False(t, after.Before(before))
	require.Equal(t, time.UTC, after.Location())
}

// TestSettingsAreChecked before they refuse every submission.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	for _, value := range []string{"", "0", "-1", "5MB", "1.5", "9223372036854775808", "NaN"} {
		_, err := lane.store.WriteSetting(t.Context(), "payload_bytes_max", value)
		require.ErrorContains(t, err, "setting payload_bytes_max \""+value+"\": accepted are whole numbers")
	}
	_, err := lane.store.WriteSetting(t.Context(), "payload_max", "1")
	require.EqualError(t, err, `setting "payload_max": accepted is payload_bytes_max`)
	require.Len(t, lane.dump("setting")["setting"], 1)
	lane.works("f", 1)
}
