package override_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
	"github.com/adjourn/adjourn/work"
)

type counter struct {
	mu        sync.Mutex
	emissions []work.Emission
}

func (counter *counter) Count(emission work.Emission) {
	counter.mu.Lock()
	defer counter.mu.Unlock()
	counter.emissions = append(counter.emissions, emission)
}

type bench struct {
	*lanetest.Platform
	recorder    *lanetest.Recorder
	party       *emittertest.Memory
	counter     *counter
	activities  *override.Activities
	environment *testsuite.TestActivityEnvironment
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{
		Platform: lanetest.New(t), party: &emittertest.Memory{}, counter: &counter{},
		environment: lanetest.Environment(),
	}
	bench.recorder = &lanetest.Recorder{Recorder: bench.Store}
	bench.activities = &override.Activities{
		Recorder: bench.recorder, Emitter: bench.party, Counter: bench.counter, Meter: &lanetest.Meter{},
		Options: override.Options{Timeout: 5 * time.Second, RecordMargin: 5 * time.Second},
	}
	bench.environment.RegisterActivity(bench.activities)
	return bench
}

func (bench *bench) emit(carriage work.Carriage) (override.Output, error) {
	encoded, err := bench.environment.ExecuteActivity(bench.activities.Emit,
		override.Input{WorkflowID: carriage.WorkflowID, Work: carriage.Works[0]})
	var output override.Output
	if err == nil {
		err = encoded.Get(&output)
	}
	return output, err
}

// requireRetried checks that the error is tried again, and returns after how long.
func requireRetried(t *testing.T, err error, kind string, expected bool) time.Duration {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type())
	require.False(t, application.NonRetryable())
	require.Equal(t, expected, application.Category() == temporal.ApplicationErrorCategoryBenign)
	return application.NextRetryDelay()
}

func (bench *bench) answer(outcome emitter.Outcome) {
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome { return outcome }
}

// TestCannotReachTheArbiter: neither by name nor through what it imports (A44,
// A46).
func TestCannotReachTheArbiter(t *testing.T) {
	t.Parallel()
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.Contains(t, string(listed), "adjourn/work")
	for line := range strings.Lines(string(listed)) {
		require.NotContains(t, line, "quota")
		require.NotContains(t, line, "pgx")
	}
}

// TestEmitsAndCounts: in that order (A42, A48).
func TestEmitsAndCounts(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	output, err := bench.emit(carriage)
	require.NoError(t, err)
	require.Equal(t, &work.Result{ID: carriage.Works[0].ID, Outcome: work.OutcomeEmitted, Number: 1}, output.Result)
	require.Equal(t, work.Emitted, bench.Row(carriage.Works[0].ID).State)
	require.Len(t, bench.counter.emissions, 1)
	require.Equal(t, work.Override, bench.counter.emissions[0].Lane)

	output, err = bench.emit(carriage) // Temporal may deliver an activity twice
	require.NoError(t, err)
	require.Equal(t, override.Output{Gone: true}, output)
	require.Len(t, bench.party.Messages(), 1)
}

// TestEmitsWithoutAnyQuota: every table of the quota is gone (A45, G2).
func TestEmitsWithoutAnyQuota(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Exec(`DROP TABLE adjourn.quota_window, adjourn.quota_figure, adjourn.quota_hold,
		adjourn.quota_reservation, adjourn.quota_cadence`)
	output, err := bench.emit(bench.Override())
	require.NoError(t, err)
	require.Equal(t, work.OutcomeEmitted, output.Result.Outcome)
}

// TestARejectionIsAResult: retrying would not help.
func TestARejectionIsAResult(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.answer(emitter.Outcome{Verdict: emitter.Rejected, Status: 422})
	output, err := bench.emit(bench.Override())
	require.NoError(t, err)
	require.Equal(t, work.OutcomeFailed, output.Result.Outcome)
	require.Len(t, bench.counter.emissions, 1, "the third party counts the attempt")
}

// TestALimitIsWaitedFor: as long as the third party asks, capped; expected.
func TestALimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	bench.answer(emitter.Outcome{Verdict: emitter.Limited, RetryAfter: 20 * time.Second})
	_, err := bench.emit(carriage)
	require.Equal(t, 20*time.Second, requireRetried(t, err, "third_party_limit", true))
	bench.answer(emitter.Outcome{Verdict: emitter.Limited, RetryAfter: time.Hour})
	_, err = bench.emit(carriage)
	require.Equal(t, time.Minute, requireRetried(t, err, "third_party_limit", true))
	require.Equal(t, 2, bench.Row(carriage.Works[0].ID).Attempts)
	bench.answer(emitter.Outcome{Verdict: emitter.Emitted})
	output, err := bench.emit(carriage)
	require.NoError(t, err)
	require.Equal(t, int64(1), output.Result.Number, "one number over all attempts (G5)")
}

// TestTroubleIsRetriedByThePolicy: nobody knows, or nothing was sent; only what
// may have arrived is counted.
func TestTroubleIsRetriedByThePolicy(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	bench.answer(emitter.Outcome{Verdict: emitter.Unsent})
	_, err := bench.emit(carriage)
	require.Zero(t, requireRetried(t, err, "not_sent", false))
	require.Empty(t, bench.counter.emissions)
	bench.answer(emitter.Outcome{Verdict: emitter.Uncertain})
	_, err = bench.emit(carriage)
	require.Zero(t, requireRetried(t, err, "uncertain", false))
	require.Len(t, bench.counter.emissions, 1)
}

// TestAnAttemptInFlightIsWaitedFor: two calls at once for one work would be two
// effects to recognise; the wait is bounded whatever this machine's clock says.
func TestAnAttemptInFlightIsWaitedFor(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	begin := func(timeout time.Duration) {
		begun, err := bench.Store.Begin(t.Context(), work.BeginOptions{
			Lane: work.Override, WorkflowID: carriage.WorkflowID, IDs: lanetest.IDs(carriage.Works), Timeout: timeout,
		})
		require.NoError(t, err)
		require.Len(t, begun.Attempts, 1)
	}
	begin(time.Hour)
	_, err := bench.emit(carriage)
	require.Equal(t, 10*time.Second, requireRetried(t, err, "attempt_in_flight", true), "at most time-out and margin")
	require.Empty(t, bench.party.Messages())

	bench.Exec(`UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() + INTERVAL '10ms'`)
	_, err = bench.emit(carriage)
	if err != nil { // unless those milliseconds had passed
		require.Equal(t, time.Second, requireRetried(t, err, "attempt_in_flight", true))
	}
	bench.Exec(`UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() WHERE state = 'attempting'`)
	_, err = bench.emit(carriage)
	require.NoError(t, err)
	require.Equal(t, work.Emitted, bench.Row(carriage.Works[0].ID).State)
}

// TestARegisterThatIsDownIsRetried, before and after the call.
func TestARegisterThatIsDownIsRetried(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	down := errors.New("down")
	bench.recorder.BeforeBegin = func(context.Context, work.BeginOptions) error { return down }
	_, err := bench.emit(carriage)
	requireRetried(t, err, "register_unavailable", false)
	require.Empty(t, bench.party.Messages())

	bench.recorder.BeforeBegin = nil
	bench.recorder.BeforeRecord = func(context.Context, []work.Ending) error { return down }
	bench.activities.Options.RecordFor = 50 * time.Millisecond
	_, err = bench.emit(carriage)
	requireRetried(t, err, "not_recorded", false)
	require.Len(t, bench.party.Messages(), 1)
	require.Len(t, bench.counter.emissions, 1)
}

// TestAStoppingWorkerHandsOver the work unbegun.
func TestAStoppingWorkerHandsOver(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	stopping := make(chan struct{})
	close(stopping)
	bench.environment.SetWorkerStopChannel(stopping)
	_, err := bench.emit(carriage)
	require.Positive(t, requireRetried(t, err, "worker_stopping", true))
	require.Equal(t, work.Admitted, bench.Row(carriage.Works[0].ID).State)
}

// TestInputIsChecked: a mistake of the caller is not retried.
func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	for _, input := range []override.Input{{WorkflowID: "w"}, {Work: work.Ref{ID: 1}}} {
		_, err := bench.environment.ExecuteActivity(bench.activities.Emit, input)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.True(t, application.NonRetryable())
	}
}
