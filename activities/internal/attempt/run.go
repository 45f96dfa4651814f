package attempt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/work"
)

// Load is what the attempts of one run have in common.
type Load struct {
	Lane       work.Lane
	WorkflowID string
	// NoRetry flows are attempted once: whatever does not emit them fails them.
	NoRetry bool
	Logger  log.Logger
}

// Report is what became of the works of one run, each list ordered by ID.
type Report struct {
	Results []work.Result
	// Gone are no longer this workflow's; the register knows what became of them.
	Gone []work.ID
	// Busy have an earlier attempt in flight.
	Busy []work.Busy
	// LimitedFor is the longest wait the third party asked for; zero when it
	// limited nothing.
	LimitedFor time.Duration
}

// Run is a set of works on their way. Its methods are for one goroutine, but for
// Progress.
type Run struct {
	engine Engine
	load   Load
	// ctx outlives the activity: what was begun is made and recorded.
	ctx      context.Context
	attempts sync.WaitGroup
	endings  chan made
	recorded chan struct{}

	mu     sync.Mutex
	report Report
	begun  int
}

// Open starts the run's recorder; Close stops it.
func (engine Engine) Open(ctx context.Context, load Load) *Run {
	run := &Run{
		engine: engine.withDefaults(), load: load, ctx: context.WithoutCancel(ctx),
		endings: make(chan made), recorded: make(chan struct{}),
	}
	go run.recordAll()
	return run
}

// Do opens a run, begins all works and closes it.
func (engine Engine) Do(ctx context.Context, load Load, ids []work.ID) (Report, error) {
	run := engine.Open(ctx, load)
	err := run.Begin(ctx, ids)
	return run.Close(), err
}

// Begin asks the register for the works and starts an attempt for each that it
// lets go. In error none was started; the register may have marked them all the
// same, and then they stay busy until their attempts are surely over.
func (run *Run) Begin(ctx context.Context, ids []work.ID) error {
	options := run.engine.Options
	// Before the statement leaves, so that what the register measured on its
	// clock began later than this stop-watch.
	watch := time.Now()
	ctx, cancel := context.WithTimeout(ctx, options.StatementTimeout)
	defer cancel()
	begun, err := run.engine.Recorder.Begin(ctx, work.BeginOptions{
		Lane: run.load.Lane, WorkflowID: run.load.WorkflowID, IDs: ids,
		Guard: options.Guard, Window: options.Window,
		Timeout: options.SurelyOver(), NoRetry: run.load.NoRetry,
	})
	if err != nil {
		return fmt.Errorf("begin attempts: %w", err)
	}
	answered := time.Now()
	run.mu.Lock()
	run.report.Results = append(run.report.Results, begun.Refused...)
	run.report.Gone = append(run.report.Gone, begun.Gone...)
	run.report.Busy = append(run.report.Busy, begun.Busy...)
	run.begun += len(begun.Attempts)
	run.mu.Unlock()
	for _, attempt := range begun.Attempts {
		run.attempts.Go(func() { run.attempt(attempt, watch, answered) })
	}
	return nil
}

// Close waits until every attempt has ended and its ending is recorded or given
// up; both are bounded by the options.
func (run *Run) Close() Report {
	run.attempts.Wait()
	close(run.endings)
	<-run.recorded
	slices.SortFunc(run.report.Results, func(a, b work.Result) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(run.report.Gone)
	slices.SortFunc(run.report.Busy, func(a, b work.Busy) int { return cmp.Compare(a.ID, b.ID) })
	return run.report
}

// Progress of the run, for heartbeats. Safe for concurrent use.
func (run *Run) Progress() Progress {
	run.mu.Lock()
	defer run.mu.Unlock()
	return Progress{Begun: run.begun, Ended: len(run.report.Results)}
}

// Progress is how far a run has come: numbers only (G10).
type Progress struct {
	Begun int `json:"begun"`
	Ended int `json:"ended"`
}

// attempt makes one attempt. The register marked it after watch and before
// answered, so what is counted from the one is never too early and from the
// other never too late.
func (run *Run) attempt(begun work.Attempt, watch, answered time.Time) {
	options := run.engine.Options
	// The same instant bounds the call and its first byte: a process frozen past
	// it must not send what a recovery may have let begin again elsewhere.
	over := watch.Add(options.Timeout)
	ctx, cancel := context.WithDeadline(run.ctx, over)
	defer cancel()
	sendBy := over
	if run.load.Lane == work.Governed {
		windowEnd := watch.Add(begun.SlotLeft - options.Guard/2)
		sendBy = earlier(over, windowEnd)
	}
	left := begun.BegunAt.Add(time.Since(answered))
	outcome := run.call(ctx, begun, sendBy)
	now := begun.BegunAt.Add(time.Since(watch))
	if outcome.Spent() {
		run.engine.Sent(work.Emission{Flow: begun.Work.Flow, Lane: run.load.Lane, At: left})
	}
	if outcome.Verdict == emitter.Limited {
		run.engine.Limited(run.ctx, now.Add(run.hold(outcome)))
	}
	run.endings <- run.conclude(begun, outcome, now)
}

// call makes the one attempt. A panic of the emitter is an attempt that nobody
// can tell the end of; it must not take the whole worker down.
func (run *Run) call(ctx context.Context, begun work.Attempt, sendBy time.Time) (outcome emitter.Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			run.load.Logger.Error("the emitter panicked: the attempt counts as spent",
				"work", begun.Work.ID, "panic", cause)
			outcome = emitter.Outcome{Verdict: emitter.Uncertain, Detail: "the emitter panicked"}
		}
	}()
	return run.engine.Emitter.Emit(ctx, emitter.Message{
		WorkID: int64(begun.Work.ID), Flow: begun.Work.Flow, Lane: string(run.load.Lane),
		Stream: begun.Stream, Number: begun.Number, IdempotencyKey: begun.IdempotencyKey,
		ContentType: begun.ContentType, Payload: begun.Payload, SendBy: sendBy,
	})
}

func (run *Run) hold(outcome emitter.Outcome) time.Duration {
	return cmp.Or(outcome.RetryAfter, run.engine.Options.HoldDefault)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
