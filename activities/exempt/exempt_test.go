package exempt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
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
	activities  *exempt.Activities
	environment *testsuite.TestActivityEnvironment
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{
		Platform: lanetest.New(t), party: &emittertest.Memory{}, counter: &counter{},
		environment: lanetest.Environment(),
	}
	bench.recorder = &lanetest.Recorder{Recorder: bench.Store}
	bench.activities = &exempt.Activities{
		Recorder: bench.recorder, Emitter: bench.party, Counter: bench.counter, Meter: &lanetest.Meter{},
		NoRetryFlows: []string{"once"},
	}
	bench.environment.RegisterActivity(bench.activities)
	return bench
}

func (bench *bench) emit(carriage work.Carriage) (exempt.Output, error) {
	encoded, err := bench.environment.ExecuteActivity(bench.activities.EmitChunk,
		exempt.Input{WorkflowID: carriage.WorkflowID, Works: carriage.Works})
	var output exempt.Output
	if err == nil {
		err = encoded.Get(&output)
	}
	return output, err
}

// answer makes the third party answer the works of a carriage in their order.
func (bench *bench) answer(carriage work.Carriage, verdicts ...emitter.Verdict) {
	outcomes := map[int64]emitter.Outcome{}
	for i, verdict := range verdicts {
		outcomes[int64(carriage.Works[i].ID)] = emitter.Outcome{Verdict: verdict}
	}
	bench.party.Answer = func(_ context.Context, message emitter.Message) emitter.Outcome {
		return outcomes[message.WorkID]
	}
}

// requireRetried checks that the error is tried again, and returns after how long.
func requireRetried(t *testing.T, err error, kind string) time.Duration {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type())
	require.False(t, application.NonRetryable())
	expected := kind == "third_party_limit" || kind == "attempt_in_flight" || kind == "worker_stopping"
	require.Equal(t, expected, application.Category() == temporal.ApplicationErrorCategoryBenign)
	return application.NextRetryDelay()
}

// TestEmitsAndCounts flows that nobody declared like those that were, with a
// ceiling of nothing (A47, A57, G6).
func TestEmitsAndCounts(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 0
	output, err := bench.emit(bench.Exempt("zzz", 3))
	require.NoError(t, err)
	require.Len(t, output.Results, 3)
	require.Len(t, bench.counter.emissions, 3)
	require.Equal(t, work.Exempt, bench.counter.emissions[0].Lane)
}

// TestOnlyWhatIsLeftIsTriedAgain: the error asks for it, and the results settled
// before it are kept over Temporal's retries.
func TestOnlyWhatIsLeftIsTriedAgain(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("ack", 4)
	bench.answer(carriage, emitter.Emitted, emitter.Rejected, emitter.Uncertain, emitter.Limited)
	var details []work.Result
	bench.environment.SetOnActivityHeartbeatListener(func(_ *activity.Info, values converter.EncodedValues) {
		require.NoError(t, values.Get(&details))
	})
	_, err := bench.emit(carriage)
	requireRetried(t, err, "uncertain")
	require.Len(t, details, 2, "what was settled goes with the heartbeat")

	bench.environment.SetHeartbeatDetails(details)
	bench.answer(carriage, "", "", emitter.Emitted, emitter.Emitted)
	output, err := bench.emit(carriage)
	require.NoError(t, err)
	require.Empty(t, output.Gone)
	var outcomes []work.Outcome
	for _, result := range output.Results {
		outcomes = append(outcomes, result.Outcome)
	}
	require.Equal(t, []work.Outcome{
		work.OutcomeEmitted, work.OutcomeFailed, work.OutcomeEmitted, work.OutcomeEmitted,
	}, outcomes)
	require.Len(t, bench.party.Messages(), 6)
}

// TestALimitIsWaitedFor: as long as the third party asks, capped; expected.
func TestALimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		return emitter.Outcome{Verdict: emitter.Limited, RetryAfter: time.Hour}
	}
	_, err := bench.emit(bench.Exempt("ack", 2))
	require.Equal(t, time.Minute, requireRetried(t, err, "third_party_limit"))
}

// TestFlowsWithoutRetry are attempted once: what does not emit them fails them,
// visibly, and nothing is retried.
func TestFlowsWithoutRetry(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("once", 4)
	bench.answer(carriage, emitter.Emitted, emitter.Uncertain, emitter.Limited, emitter.Unsent)
	output, err := bench.emit(carriage)
	require.NoError(t, err)
	require.Equal(t, []work.State{work.Emitted, work.Failed, work.Failed, work.Failed}, bench.States(carriage.Works))
	require.Len(t, output.Results, 4)
	require.Equal(t, "not_retried", output.Results[1].Reason)
}

// TestALostAttemptOfAFlowWithoutRetryIsNotTakenOver: a recovery fails it.
func TestALostAttemptOfAFlowWithoutRetryIsNotTakenOver(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	for flow, calls := range map[string]int{"once": 0, "ack": 1} {
		carriage := bench.Exempt(flow, 1)
		_, err := bench.Store.Begin(t.Context(), work.BeginOptions{
			Lane: work.Exempt, WorkflowID: carriage.WorkflowID, IDs: lanetest.IDs(carriage.Works), Timeout: time.Hour,
		})
		require.NoError(t, err)
		if flow == "ack" {
			_, err = bench.emit(carriage)
			requireRetried(t, err, "attempt_in_flight")
		}
		bench.Exec(`UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() WHERE flow = $1`, flow)
		before := len(bench.party.Messages())
		_, err = bench.emit(carriage)
		require.NoError(t, err)
		require.Len(t, bench.party.Messages(), before+calls, flow)
	}
}

// TestARegisterThatIsDownIsRetried without a call.
func TestARegisterThatIsDownIsRetried(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("once", 1)
	bench.recorder.BeforeBegin = func(context.Context, work.BeginOptions) error { return errors.New("down") }
	_, err := bench.emit(carriage)
	requireRetried(t, err, "register_unavailable")
	require.Empty(t, bench.party.Messages())
}

// TestAStoppingWorkerHandsOver the works unbegun.
func TestAStoppingWorkerHandsOver(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("ack", 1)
	stopping := make(chan struct{})
	close(stopping)
	bench.environment.SetWorkerStopChannel(stopping)
	_, err := bench.emit(carriage)
	requireRetried(t, err, "worker_stopping")
	require.Equal(t, work.Admitted, bench.Row(carriage.Works[0].ID).State)
}

// TestInputIsChecked: a mistake of the caller is not retried.
func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	for _, input := range []exempt.Input{
		{WorkflowID: "w"}, {Works: make([]work.Ref, 1)}, {WorkflowID: "w", Works: make([]work.Ref, 1001)},
	} {
		_, err := bench.environment.ExecuteActivity(bench.activities.EmitChunk, input)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.True(t, application.NonRetryable())
	}
}
