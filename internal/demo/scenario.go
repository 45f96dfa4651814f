package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/playground"
	"github.com/adjourn/adjourn/internal/submission"
	"github.com/adjourn/adjourn/quota"
)

// Ceiling of a window in the demo.
const Ceiling = 100

// observedLines of the works file are handed in while observing, the rest while
// enforcing.
const observedLines = 150

// Environ is the demo's own configuration, over which nothing else is laid: it
// shows in two minutes what takes hours with the defaults.
func Environ(enforce bool) []string {
	return []string{
		"QUOTA_WINDOW=20s",
		fmt.Sprintf("QUOTA_HOURLY_CEILING=%d", Ceiling),
		fmt.Sprintf("QUOTA_ENFORCE=invoice:%t,status:%t", enforce, enforce),
		"QUOTA_EXEMPT_FLOWS=ack",
		"DEADLINE_OVERRIDE_MARGIN=5s",
		"DISPATCH_INTERVAL=1s", "DISPATCH_JITTER=0s", "DISPATCH_RESTART_AFTER=5s",
		"EMISSION_TIMEOUT=5s", "ADJOURN_WORKER_STOP_TIMEOUT=10s",
		"ADJOURN_METRICS_ADDR=", "ADJOURN_SERVER_ADDR=127.0.0.1:0",
	}
}

// Scenario is one run of the demo on a running playground.
type Scenario struct {
	Playground *playground.Playground
	// Works is the file of works, a JSON object a line.
	Works string
	// Out receives the narration.
	Out io.Writer
}

// Bounds of the scenario.
const (
	// clearTimeout is how long the works may take to be through.
	clearTimeout = 5 * time.Minute
	// settleTimeout is how long accounting may take to catch up afterwards.
	settleTimeout = 10 * time.Second
	pollInterval  = 500 * time.Millisecond
)

// run is a scenario under way.
type run struct {
	Scenario
	narrator *narrator
	window   time.Duration
	// since is the first window of the demo; enforcedSince the first enforced.
	since, enforcedSince time.Time
	submitted            int
}

// Run plays the scenario and returns the judged report. Its error means that the
// scenario could not be played to its end; what was found wrong is in the
// report.
func (scenario Scenario) Run(ctx context.Context) (Report, error) {
	works, err := os.ReadFile(scenario.Works)
	if err != nil {
		return Report{}, fmt.Errorf("read the works: %w", err)
	}
	observed, enforced := split(works, observedLines)
	run := &run{
		Scenario: scenario, narrator: newNarrator(scenario.Out),
		window: scenario.Playground.Config.Quota.Window,
	}
	if err := run.observe(ctx, observed); err != nil {
		return Report{}, err
	}
	if err := run.enforce(ctx, enforced); err != nil {
		return Report{}, err
	}
	return run.report(ctx)
}

// split cuts text after its first lines lines.
func split(text []byte, lines int) (head, tail []byte) {
	end := 0
	for range lines {
		newline := bytes.IndexByte(text[end:], '\n')
		if newline < 0 {
			return text, nil
		}
		end += newline + 1
	}
	return text[:end], text[end:]
}

// observe emits the first works with all flags off, for one window.
func (run *run) observe(ctx context.Context, works []byte) error {
	start, err := run.nextWindow(ctx, "waiting for the next window, so that the first one is whole")
	if err != nil {
		return err
	}
	run.since = start
	end := start.Add(run.window)
	run.narrator.say(start, "window %s to %s: OBSERVE, ceiling %d. Every flag is false: works beyond the "+
		"ceiling go all the same, and are counted.", clock(start), clock(end), Ceiling)
	return run.withWorker(ctx, false, works, func(now time.Time) (bool, error) {
		return !now.Before(end), nil
	})
}

// enforce switches the flags and emits the rest, window by window, until nothing
// is left.
func (run *run) enforce(ctx context.Context, works []byte) error {
	now, err := run.Playground.Now(ctx)
	if err != nil {
		return err
	}
	usage, err := run.Playground.Quota.Usage(ctx, run.Playground.Pool)
	if err != nil {
		return err
	}
	run.enforcedSince = usage.Window.Start
	run.narrator.say(now, "QUOTA_ENFORCE=invoice:true,status:true: the flags are flipped, the worker is started again.")
	turned := time.Time{}
	ctx, cancel := context.WithTimeoutCause(ctx, clearTimeout, errors.New("the works took too long"))
	defer cancel()
	return run.withWorker(ctx, true, works, func(now time.Time) (bool, error) {
		if start := quota.WindowAt(now, run.window).Start; start.After(turned) {
			turned = start
			if err := run.announce(ctx, now, start); err != nil {
				return false, err
			}
		}
		left, err := run.left(ctx)
		return left == 0, err
	})
}

func (run *run) announce(ctx context.Context, now, start time.Time) error {
	left, err := run.left(ctx)
	if err != nil {
		return err
	}
	run.narrator.say(now, "window %s to %s: ENFORCE, ceiling %d, %d works waiting.",
		clock(start), clock(start.Add(run.window)), Ceiling, left)
	return nil
}

// left counts the works that are not finished.
func (run *run) left(ctx context.Context) (int, error) {
	var left int
	err := run.Playground.Pool.QueryRow(ctx,
		"SELECT count(*) FROM adjourn.work WHERE state <> 'failed'").Scan(&left)
	if err != nil {
		return 0, fmt.Errorf("count the works that are left: %w", err)
	}
	return left, nil
}

// withWorker submits works, runs a worker and narrates until done says so.
func (run *run) withWorker(
	ctx context.Context, enforce bool, works []byte, done func(now time.Time) (bool, error),
) (err error) {
	cfg, err := config.LoadFrom(Environ(enforce))
	if err != nil {
		return fmt.Errorf("the demo's configuration: %w", err)
	}
	if err := run.submit(ctx, works); err != nil {
		return err
	}
	worker, err := run.Playground.StartWorker(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Stop()) }()
	for {
		now, err := run.Playground.Now(ctx)
		if err != nil {
			return err
		}
		if err := run.tell(ctx, now); err != nil {
			return err
		}
		if finished, err := done(now); finished || err != nil {
			return err
		}
		select {
		case <-time.After(pollInterval):
		case <-worker.Done():
			return errors.Join(errors.New("the worker ended"), worker.Stop())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (run *run) tell(ctx context.Context, now time.Time) error {
	figures, err := run.Playground.Quota.Figures(ctx, run.Playground.Pool, run.since, figuresMax)
	if err != nil {
		return err
	}
	run.narrator.tell(now, run.window, figures)
	return nil
}

// figuresMax is far above what the demo's windows and flows can hold.
const figuresMax = 10000

func (run *run) submit(ctx context.Context, works []byte) (err error) {
	now, err := run.Playground.Now(ctx)
	if err != nil {
		return err
	}
	files, err := os.OpenRoot(filepath.Dir(run.Works))
	if err != nil {
		return fmt.Errorf("open the directory of the works: %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	reader := submission.NewReader(bytes.NewReader(works), submission.Options{
		PayloadBytesMax: run.Playground.Config.Works.PayloadBytesMax, Files: files, Now: now,
	})
	report, err := submission.Submit(ctx, reader, app.SubmissionRegister(run.Playground.Works),
		func(submission.Report) {})
	if err != nil {
		return fmt.Errorf("submit the works: %w", err)
	}
	if report.RefusedLines > 0 {
		return fmt.Errorf("submit the works: line %d: %s", report.Refused[0].Line, report.Refused[0].Reason)
	}
	run.submitted += report.Submitted
	run.narrator.say(now, "%d works submitted from %s.", report.Submitted, filepath.Base(run.Works))
	return nil
}

// nextWindow waits for the next turn of the window, on the database's clock.
func (run *run) nextWindow(ctx context.Context, why string) (time.Time, error) {
	usage, err := run.Playground.Quota.Usage(ctx, run.Playground.Pool)
	if err != nil {
		return time.Time{}, err
	}
	next := usage.Window.End()
	run.narrator.say(usage.Now, "%s (%s).", why, clock(next))
	for now := usage.Now; now.Before(next); {
		select {
		case <-time.After(next.Sub(now)):
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
		if now, err = run.Playground.Now(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return next, nil
}

func clock(instant time.Time) string { return instant.UTC().Format(time.TimeOnly) }
