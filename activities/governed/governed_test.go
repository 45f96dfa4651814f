package governed_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// bench is the governed lane on a real register and arbiter.
type bench struct {
	*lanetest.Platform
	recorder    *lanetest.Recorder
	party       *emittertest.Memory
	meter       *lanetest.Meter
	activities  *governed.Activities
	environment *testsuite.TestActivityEnvironment
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{
		Platform: lanetest.New(t), party: &emittertest.Memory{}, meter: &lanetest.Meter{},
		environment: lanetest.Environment(),
	}
	bench.recorder = &lanetest.Recorder{Recorder: bench.Store}
	bench.activities = &governed.Activities{
		Recorder: bench.recorder, Releaser: bench.Store, Admitter: bench.Admitter,
		Emitter: bench.party, Arbiter: bench.Arbiter, Meter: bench.meter,
		Options: governed.Options{Window: lanetest.Window, Guard: 2 * time.Second},
	}
	bench.environment.RegisterActivity(bench.activities)
	return bench
}

func input(carriage work.Carriage) governed.Input {
	return governed.Input{WorkflowID: carriage.WorkflowID, SlotStart: carriage.SlotStart, Works: carriage.Works}
}

func (bench *bench) emit(t *testing.T, carriage work.Carriage) governed.Output {
	t.Helper()
	encoded, err := bench.environment.ExecuteActivity(bench.activities.EmitChunk, input(carriage))
	require.NoError(t, err)
	var output governed.Output
	require.NoError(t, encoded.Get(&output))
	return output
}

func (bench *bench) admit(t *testing.T, works []work.Ref) governed.Admitted {
	t.Helper()
	encoded, err := bench.environment.ExecuteActivity(bench.activities.Admit,
		governed.Input{WorkflowID: "direct", Works: works})
	require.NoError(t, err)
	var admitted governed.Admitted
	require.NoError(t, encoded.Get(&admitted))
	return admitted
}

func reasons(results []work.Result) (reasons []string) {
	for _, result := range results {
		reasons = append(reasons, result.Reason)
	}
	return reasons
}

// TestReasonsAreTheQuotasWords: the shared engine cannot import the quota.
func TestReasonsAreTheQuotasWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, string(quota.ReasonThirdPartyLimit), attempt.ReasonThirdPartyLimit)
}

// TestEmitsAChunk: every work, once, with its own outcome.
func TestEmitsAChunk(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(5)
	output := bench.emit(t, carriage)
	require.Len(t, output.Results, 5)
	for i, result := range output.Results {
		require.Equal(t, work.Result{ID: carriage.Works[i].ID, Outcome: work.OutcomeEmitted, Number: int64(i + 1)}, result)
	}
	require.Len(t, bench.party.Messages(), 5)

	again := bench.emit(t, carriage) // Temporal may deliver an activity twice
	require.Equal(t, lanetest.IDs(carriage.Works), again.Gone)
	require.Empty(t, again.Results)
	require.Len(t, bench.party.Messages(), 5)
}

// TestAThirdPartysLimitHoldsTheQuota: for everyone, until the instant it asked
// for, told once per chunk; the work is deferred, not failed.
func TestAThirdPartysLimitHoldsTheQuota(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(4)
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		return emitter.Outcome{Verdict: emitter.Limited, Status: 429, RetryAfter: 10 * time.Minute}
	}
	holds := &countingArbiter{Arbiter: bench.Arbiter}
	bench.activities.Arbiter = holds
	output := bench.emit(t, carriage)
	for _, result := range output.Results {
		require.Equal(t, work.OutcomeDeferred, result.Outcome)
		require.Equal(t, string(quota.ReasonThirdPartyLimit), result.Reason)
	}
	usage, err := bench.Arbiter.Usage(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, usage.Now.Add(10*time.Minute), usage.HeldUntil, 20*time.Second)
	require.WithinDuration(t, usage.HeldUntil, output.Results[0].RetryAt, 20*time.Second)
	require.Equal(t, 1, holds.calls)
	require.Equal(t, 4, bench.meter.Counts()["deferred invoice third_party_limit"])
	require.Equal(t, slices.Repeat([]work.State{work.Pending}, 4), bench.States(carriage.Works))
}

// TestALimitWithoutADelayHolds the back-off's base.
func TestALimitWithoutADelayHolds(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.activities.Options.Backoff = work.Backoff{Base: 3 * time.Minute, Max: time.Hour}
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		return emitter.Outcome{Verdict: emitter.Limited, Status: 429}
	}
	bench.emit(t, bench.Governed(1))
	usage, err := bench.Arbiter.Usage(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, usage.Now.Add(3*time.Minute), usage.HeldUntil, 20*time.Second)
}

// TestAHoldThatFailsFailsNothing: the endings are recorded all the same.
func TestAHoldThatFailsFailsNothing(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(2)
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		return emitter.Outcome{Verdict: emitter.Limited, RetryAfter: time.Minute}
	}
	bench.Exec(`DROP TABLE adjourn.quota_hold`)
	require.Len(t, bench.emit(t, carriage).Results, 2)
	require.Equal(t, []work.State{work.Pending, work.Pending}, bench.States(carriage.Works))
	require.Equal(t, 1, bench.meter.Counts()["hold failed"])
}

// TestAStoppingWorkerBeginsNothing: slots, attempts and numbers are kept.
func TestAStoppingWorkerBeginsNothing(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(3)
	stopping := make(chan struct{})
	close(stopping)
	bench.environment.SetWorkerStopChannel(stopping)
	output := bench.emit(t, carriage)
	require.Equal(t, slices.Repeat([]string{"worker_stopping"}, 3), reasons(output.Results))
	require.Equal(t, work.OutcomeUnsent, output.Results[0].Outcome)
	require.Empty(t, bench.party.Messages())
	require.Equal(t, lanetest.Row{State: work.Admitted}, bench.Row(carriage.Works[0].ID))
}

// TestARegisterThatCannotBeAskedIsRetried: an error, of a kind that Temporal tries
// again.
func TestARegisterThatCannotBeAskedIsRetried(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.recorder.BeforeBegin = func(context.Context, work.BeginOptions) error { return errors.New("down") }
	_, err := bench.environment.ExecuteActivity(bench.activities.EmitChunk, input(bench.Governed(1)))
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, "register_unavailable", application.Type())
	require.False(t, application.NonRetryable())
}

// TestAWorkInFlightElsewhereIsSpent: its attempt may have arrived.
func TestAWorkInFlightElsewhereIsSpent(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(1)
	_, err := bench.Store.Begin(t.Context(), work.BeginOptions{
		Lane: work.Governed, WorkflowID: carriage.WorkflowID, IDs: lanetest.IDs(carriage.Works),
		Window: lanetest.Window, Timeout: time.Minute,
	})
	require.NoError(t, err)
	output := bench.emit(t, carriage)
	require.Equal(t, work.OutcomeSpent, output.Results[0].Outcome)
	require.Equal(t, "attempt_in_flight", output.Results[0].Reason)
	require.False(t, output.Results[0].RetryAt.IsZero())
	require.Empty(t, bench.party.Messages())
}

// TestInputIsChecked: a mistake of the caller is not retried.
func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	for wrong, input := range map[string]governed.Input{
		"works: got 0":       {WorkflowID: "w"},
		"works: got 1001":    {WorkflowID: "w", Works: make([]work.Ref, 1001)},
		"workflow_id: empty": {Works: make([]work.Ref, 1)},
	} {
		for _, function := range []any{bench.activities.EmitChunk, bench.activities.Admit} {
			_, err := bench.environment.ExecuteActivity(function, input)
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.True(t, application.NonRetryable())
			require.ErrorContains(t, err, wrong)
		}
	}
}

// TestAdmitAnswersForEachWork: granted, refused with when to ask again, or not
// for this lane; a refusal is a result and allocates nothing (G3, A32, A35).
func TestAdmitAnswersForEachWork(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 2
	works := bench.Submit("invoice", lanetest.Undated(3)...)
	exempt := bench.Submit("ack", time.Time{})
	admitted := bench.admit(t, append(exempt, works...))
	require.Equal(t, lanetest.IDs(works[:2]), lanetest.IDs(admitted.Works))
	require.False(t, admitted.SlotStart.IsZero())
	require.Len(t, admitted.Refused, 1)
	require.Equal(t, works[2].ID, admitted.Refused[0].ID)
	require.Equal(t, string(quota.ReasonQuotaFull), admitted.Refused[0].Reason)
	require.Equal(t, admitted.SlotStart.Add(lanetest.Window), admitted.Refused[0].RetryAt.UTC())
	require.Equal(t, lanetest.IDs(exempt), admitted.Gone)
	require.Equal(t, work.Pending, bench.Row(works[2].ID).State)
	require.Equal(t, int64(0), bench.Row(works[2].ID).Number)
	require.Equal(t, 2, bench.meter.Counts()["granted invoice"])
	require.Equal(t, 1, bench.meter.Counts()["refused invoice quota_full"])

	// The answer was lost and the question comes again: no second slot.
	repeated := bench.admit(t, works[:2])
	require.Equal(t, lanetest.IDs(works[:2]), lanetest.IDs(repeated.Works))
	usage, err := bench.Arbiter.Usage(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, usage.Count)
}

// TestAdmitWithTheArbiterInErrorDefers enforced works and lets observed ones go
// (G8).
func TestAdmitWithTheArbiterInErrorDefers(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	enforced := bench.Submit("invoice", time.Time{})
	observed := bench.Submit("observed", time.Time{})
	bench.Exec(`DROP TABLE adjourn.quota_window`)
	admitted := bench.admit(t, append(enforced, observed...))
	require.Equal(t, lanetest.IDs(observed), lanetest.IDs(admitted.Works))
	require.Equal(t, []string{string(quota.ReasonArbiterUnavailable)}, reasons(admitted.Refused))
}

// countingArbiter counts the holds on their way to a real arbiter.
type countingArbiter struct {
	governed.Arbiter
	mu    sync.Mutex
	calls int
}

func (arbiter *countingArbiter) Hold(ctx context.Context, until time.Time) error {
	arbiter.mu.Lock()
	arbiter.calls++
	arbiter.mu.Unlock()
	return arbiter.Arbiter.Hold(ctx, until)
}
