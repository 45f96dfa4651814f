package attempt_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
	"github.com/adjourn/adjourn/work"
)

// bench is an engine on a real register, with a third party that answers as the
// test says.
type bench struct {
	*lanetest.Platform
	recorder *lanetest.Recorder
	party    *emittertest.Memory
	meter    *lanetest.Meter
	engine   attempt.Engine

	mu    sync.Mutex
	sent  []work.Emission
	holds []time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{Platform: lanetest.New(t), party: &emittertest.Memory{}, meter: &lanetest.Meter{}}
	bench.recorder = &lanetest.Recorder{Recorder: bench.Store}
	bench.engine = attempt.Engine{
		Recorder: bench.recorder, Emitter: bench.party, Meter: bench.meter,
		Options: attempt.Options{Window: lanetest.Window, Guard: 2 * time.Second},
		Random:  func() float64 { return 0.5 },
		Sent: func(emission work.Emission) {
			bench.mu.Lock()
			defer bench.mu.Unlock()
			bench.sent = append(bench.sent, emission)
		},
		Limited: func(_ context.Context, until time.Time) {
			bench.mu.Lock()
			defer bench.mu.Unlock()
			bench.holds = append(bench.holds, until)
		},
	}
	return bench
}

func load(carriage work.Carriage) attempt.Load {
	return attempt.Load{Lane: carriage.Lane, WorkflowID: carriage.WorkflowID, Logger: lanetest.Logger()}
}

func (bench *bench) do(t *testing.T, carriage work.Carriage) attempt.Report {
	t.Helper()
	report, err := bench.engine.Do(t.Context(), load(carriage), lanetest.IDs(carriage.Works))
	require.NoError(t, err)
	return report
}

// answer makes the third party answer each work with its own outcome.
func (bench *bench) answer(outcomes map[work.ID]emitter.Outcome) {
	bench.party.Answer = func(_ context.Context, message emitter.Message) emitter.Outcome {
		return outcomes[work.ID(message.WorkID)]
	}
}

// TestMessageHoldsTheWork: what the third party sees is the work as it was handed
// in, with its number, key and lane.
func TestMessageHoldsTheWork(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(1)
	before := time.Now()
	bench.do(t, carriage)
	message := bench.party.Messages()[0]
	require.Equal(t, int64(carriage.Works[0].ID), message.WorkID)
	require.Equal(t, "invoice", message.Flow)
	require.Equal(t, "invoice", message.Stream)
	require.Equal(t, "governed", message.Lane)
	require.Equal(t, int64(1), message.Number)
	require.Equal(t, []byte("payload-invoice-0"), message.Payload)
	require.Equal(t, "application/json", message.ContentType)
	require.NotEmpty(t, message.IdempotencyKey)
	require.WithinRange(t, message.SendBy, before, time.Now().Add(10*time.Second))
}

// TestFirstByteLeavesBeforeTheWindowEnds: with little of the window left, the
// last instant to send lies half a guard before its end (G1).
func TestFirstByteLeavesBeforeTheWindowEnds(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(1)
	bench.Exec(`UPDATE adjourn.work SET slot_start = clock_timestamp() - INTERVAL '23:59:55'`)
	before := time.Now()
	bench.do(t, carriage)
	message := bench.party.Messages()[0]
	// At most five seconds were left when the watch started; two is the guard.
	require.WithinRange(t, message.SendBy, before.Add(2*time.Second), before.Add(4*time.Second))
}

// TestAHangingCallDelaysNoOther: while one call hangs, the others are recorded.
func TestAHangingCallDelaysNoOther(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(10)
	release := make(chan struct{})
	hanging := carriage.Works[3].ID
	bench.party.Answer = func(_ context.Context, message emitter.Message) emitter.Outcome {
		if work.ID(message.WorkID) == hanging {
			<-release
		}
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	run := bench.engine.Open(t.Context(), load(carriage))
	require.NoError(t, run.Begin(t.Context(), lanetest.IDs(carriage.Works)))
	lanetest.Await(t, func() bool {
		states := bench.States(carriage.Works)
		return states[3] == work.Attempting && len(slices.DeleteFunc(states,
			func(state work.State) bool { return state != work.Emitted })) == 9
	}, "nine emitted beside the one that hangs")
	require.Equal(t, attempt.Progress{Begun: 10, Ended: 9}, run.Progress())
	close(release)
	require.Len(t, run.Close().Results, 10)
	require.Equal(t, work.Emitted, bench.Row(hanging).State)
}

// TestNothingIsCalledWhenBeginFails: a call without a mark would be an attempt
// nobody knows of (G1).
func TestNothingIsCalledWhenBeginFails(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(2)
	bench.recorder.BeforeBegin = func(context.Context, work.BeginOptions) error { return errDown }
	report, err := bench.engine.Do(t.Context(), load(carriage), lanetest.IDs(carriage.Works))
	require.ErrorIs(t, err, errDown)
	require.Empty(t, report.Results)
	require.Empty(t, bench.party.Messages())
	require.Equal(t, []work.State{work.Admitted, work.Admitted}, bench.States(carriage.Works))
}

// TestWhatBeginRefusesIsNotCalled: expired slots, works in flight elsewhere and
// works of others.
func TestWhatBeginRefusesIsNotCalled(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(4)
	expired, busy, other := carriage.Works[0].ID, carriage.Works[1].ID, carriage.Works[2].ID
	_, err := bench.Store.Begin(t.Context(), work.BeginOptions{
		Lane: work.Governed, WorkflowID: carriage.WorkflowID, IDs: []work.ID{busy},
		Window: lanetest.Window, Timeout: time.Minute,
	})
	require.NoError(t, err)
	bench.Exec(`UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24h' WHERE id = $1`, expired)
	bench.Exec(`UPDATE adjourn.work SET workflow_id = 'another' WHERE id = $1`, other)
	report := bench.do(t, carriage)
	require.Len(t, report.Results, 2)
	require.Equal(t, expired, report.Results[0].ID)
	require.Equal(t, "slot_expired", report.Results[0].Reason)
	require.Equal(t, work.OutcomeEmitted, report.Results[1].Outcome)
	require.Equal(t, []work.ID{other}, report.Gone)
	require.Len(t, report.Busy, 1)
	require.Equal(t, busy, report.Busy[0].ID)
	require.Len(t, bench.party.Messages(), 1)
}

// TestCallEndsAtItsTimeout: each call has its own, and what it ends as is the
// emitter's word.
func TestCallEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.engine.Options.Timeout = 200 * time.Millisecond
	carriage := bench.Governed(2)
	bench.party.Answer = func(ctx context.Context, _ emitter.Message) emitter.Outcome {
		<-ctx.Done()
		return emitter.Outcome{Verdict: emitter.Uncertain, Detail: "timed out"}
	}
	for _, result := range bench.do(t, carriage).Results {
		require.Equal(t, work.OutcomeSpent, result.Outcome)
	}
}

// TestACancelledActivityFinishesWhatItBegan: the call is made and recorded.
func TestACancelledActivityFinishesWhatItBegan(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(1)
	called, release := make(chan struct{}), make(chan struct{})
	bench.party.Answer = func(ctx context.Context, _ emitter.Message) emitter.Outcome {
		close(called)
		<-release
		if ctx.Err() != nil {
			return emitter.Outcome{Verdict: emitter.Uncertain}
		}
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	ctx, cancel := context.WithCancel(t.Context())
	run := bench.engine.Open(ctx, load(carriage))
	require.NoError(t, run.Begin(ctx, lanetest.IDs(carriage.Works)))
	<-called
	cancel()
	close(release)
	require.Equal(t, work.OutcomeEmitted, run.Close().Results[0].Outcome)
	require.Equal(t, work.Emitted, bench.Row(carriage.Works[0].ID).State)
}

// TestAPanicOfTheEmitterIsAnUncertainAttempt: it costs a slot, not the worker.
func TestAPanicOfTheEmitterIsAnUncertainAttempt(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(2)
	bench.party.Answer = func(_ context.Context, message emitter.Message) emitter.Outcome {
		if work.ID(message.WorkID) == carriage.Works[0].ID {
			panic("a bug")
		}
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	results := bench.do(t, carriage).Results
	require.Equal(t, work.OutcomeSpent, results[0].Outcome)
	require.Equal(t, work.OutcomeEmitted, results[1].Outcome)
	require.Len(t, bench.sent, 2)
}

// TestSpentWorksBackOff: exponentially in their attempts, with full jitter, on the
// database's clock.
func TestSpentWorksBackOff(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.engine.Options.Backoff = work.Backoff{Base: time.Minute, Max: time.Hour}
	carriage := bench.Governed(1)
	bench.Exec(`UPDATE adjourn.work SET attempts = 2`)
	bench.answer(nil) // the zero outcome: nobody knows
	result := bench.do(t, carriage).Results[0]
	var notBefore, now time.Time
	require.NoError(t, bench.Pool.QueryRow(t.Context(),
		`SELECT not_before, clock_timestamp() FROM adjourn.work`).Scan(&notBefore, &now))
	// The third attempt: half of four minutes.
	require.WithinDuration(t, now.Add(2*time.Minute), notBefore, 10*time.Second)
	require.WithinDuration(t, notBefore, result.RetryAt, 5*time.Second)
}

// TestEmissionsAreToldWithTheInstantTheyLeft: on the database's clock, after the
// call, late when the deadline has passed (G6, A48).
func TestEmissionsAreToldWithTheInstantTheyLeft(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Override()
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		bench.mu.Lock()
		defer bench.mu.Unlock()
		require.Empty(t, bench.sent, "told before the call has ended")
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	bench.do(t, carriage)
	var now time.Time
	require.NoError(t, bench.Pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now))
	require.Len(t, bench.sent, 1)
	require.Equal(t, work.Override, bench.sent[0].Lane)
	require.Equal(t, "invoice", bench.sent[0].Flow)
	require.WithinRange(t, bench.sent[0].At, now.Add(-20*time.Second), now)
	require.Equal(t, 1, bench.meter.Counts()["late invoice"])
}
