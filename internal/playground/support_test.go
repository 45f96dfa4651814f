package playground_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
	"github.com/adjourn/adjourn/internal/playground"
	"github.com/adjourn/adjourn/work"
)

// patience bounds every wait of these tests: far above what anything takes, so
// that only what never happens fails.
const patience = 60 * time.Second

// settings are those of most tests, with overrides laid over them: one long
// window, quick passes.
func settings(overrides ...string) []string {
	return append([]string{
		"QUOTA_WINDOW=24h", "QUOTA_HOURLY_CEILING=100", "QUOTA_ENFORCE=invoice:true,status:true",
		"QUOTA_EXEMPT_FLOWS=ack", "DEADLINE_OVERRIDE_MARGIN=15m",
		"DISPATCH_INTERVAL=1s", "DISPATCH_JITTER=0s", "DISPATCH_RESTART_AFTER=3s",
		"EMISSION_TIMEOUT=3s", "EMISSION_BACKOFF_BASE=100ms", "EMISSION_BACKOFF_MAX=1s",
		"ADJOURN_WORKER_STOP_TIMEOUT=20s", "ADJOURN_METRICS_ADDR=", "ADJOURN_LOG_LEVEL=warn",
	}, overrides...)
}

// load reads settings; later ones of a name win, as in an environment.
func load(t *testing.T, environ []string) config.Config {
	t.Helper()
	latest := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		latest[name] = value
	}
	var lines []string
	for name, value := range latest {
		lines = append(lines, name+"="+value)
	}
	cfg, err := config.LoadFrom(lines)
	require.NoError(t, err)
	return cfg
}

// stage is a platform of its own for one test.
type stage struct {
	*playground.Playground
	t *testing.T
}

func newStage(t *testing.T) *stage {
	t.Helper()
	started, err := playground.Start(t.Context(), playground.Options{
		Config: load(t, settings()), Disposable: true, Progress: os.Stderr, Logger: zaptest.NewLogger(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, started.Stop(ctx))
	})
	return &stage{Playground: started, t: t}
}

// worker runs a worker in this process until the test ends.
func (stage *stage) worker(overrides ...string) *playground.Running {
	stage.t.Helper()
	running, err := stage.StartWorker(stage.t.Context(), load(stage.t, settings(overrides...)))
	require.NoError(stage.t, err)
	stage.t.Cleanup(func() { require.NoError(stage.t, running.Stop()) })
	return running
}

// submit hands in works of one flow.
func (stage *stage) submit(flow string, count int, deadline time.Time) []work.ID {
	stage.t.Helper()
	submissions := make([]work.Submission, count)
	for i := range submissions {
		submissions[i] = work.Submission{Flow: flow, Payload: []byte(payloadMark), Deadline: deadline}
	}
	ids := make([]work.ID, count)
	for i, result := range stage.Works.SubmitAll(stage.t.Context(), submissions) {
		require.NoError(stage.t, result.Err)
		ids[i] = result.ID
	}
	return ids
}

// payloadMark is every payload of these tests; it must never be seen in a
// workflow's history.
const payloadMark = `{"secret":"the payload of a work"}`

// arrivals waits until the third party has seen what enough asks for.
func (stage *stage) arrivals(what string, enough func([]thirdparty.Arrival) bool) []thirdparty.Arrival {
	stage.t.Helper()
	ctx, cancel := context.WithTimeout(stage.t.Context(), patience)
	defer cancel()
	err := stage.Stack.ThirdParty.WaitFor(ctx, enough)
	require.NoError(stage.t, err, "waiting for %s; arrived: %v", what, stage.Stack.ThirdParty.Arrivals())
	return stage.Stack.ThirdParty.Arrivals()
}

// eventually waits until the query answers true.
func (stage *stage) eventually(what, sql string, arguments ...any) {
	stage.t.Helper()
	require.EventuallyWithT(stage.t, func(t *assert.CollectT) {
		var holds bool
		require.NoError(t, stage.Pool.QueryRow(stage.t.Context(), sql, arguments...).Scan(&holds))
		require.True(t, holds)
	}, patience, 50*time.Millisecond, what)
}

func (stage *stage) exec(sql string) {
	stage.t.Helper()
	_, err := stage.Pool.Exec(stage.t.Context(), sql)
	require.NoError(stage.t, err)
}

func (stage *stage) number(sql string) (number int) {
	stage.t.Helper()
	require.NoError(stage.t, stage.Pool.QueryRow(stage.t.Context(), sql).Scan(&number))
	return number
}

// requireWitness checks from outside what must hold whatever happened: no gap,
// no number twice, no effect twice.
func (stage *stage) requireWitness() {
	stage.t.Helper()
	require.Empty(stage.t, stage.Stack.ThirdParty.Gaps(), "gaps")
	require.Empty(stage.t, stage.Stack.ThirdParty.SharedNumbers(), "numbers given twice")
	require.Empty(stage.t, stage.Stack.ThirdParty.DuplicateEffects(), "duplicate effects")
}

// effects counts the works that took effect.
func effects(arrivals []thirdparty.Arrival) (count int) {
	for _, arrival := range arrivals {
		if arrival.Effect {
			count++
		}
	}
	return count
}

func byLane(arrivals []thirdparty.Arrival, lane work.Lane) []thirdparty.Arrival {
	return slices.DeleteFunc(slices.Clone(arrivals), func(arrival thirdparty.Arrival) bool {
		return arrival.Lane != string(lane)
	})
}

// process is a worker of its own, to be killed.
type process struct {
	t       *testing.T
	command *exec.Cmd
	done    chan error
	output  *safeBuffer
	once    sync.Once
	err     error
}

func (stage *stage) process(arguments []string, overrides ...string) *process {
	stage.t.Helper()
	command := exec.Command(program, append([]string{"worker"}, arguments...)...)
	command.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"DATABASE_URL=" + stage.Stack.DatabaseURL, "TEMPORAL_ADDRESS=" + stage.Stack.TemporalAddress,
		"EMITTER_URL=" + stage.Stack.ThirdParty.URL,
	}, settings(overrides...)...)
	output := &safeBuffer{}
	command.Stdout, command.Stderr = output, output
	require.NoError(stage.t, command.Start())
	started := &process{t: stage.t, command: command, done: make(chan error, 1), output: output}
	go func() { started.done <- command.Wait() }()
	stage.t.Cleanup(func() { started.signal(syscall.SIGKILL); _ = started.wait() })
	return started
}

func (process *process) signal(signal syscall.Signal) {
	_ = process.command.Process.Signal(signal) // it may have ended
}

// kill ends the process as a crash would.
func (process *process) kill() {
	process.t.Helper()
	process.signal(syscall.SIGKILL)
	require.Error(process.t, process.wait())
}

// wait returns how the process ended.
func (process *process) wait() error {
	process.once.Do(func() {
		select {
		case err := <-process.done:
			if err != nil {
				process.err = fmt.Errorf("%w: %s", err, process.output)
			}
		case <-time.After(patience):
			process.err = fmt.Errorf("the worker did not end: %s", process.output)
		}
	})
	return process.err
}

// safeBuffer is a buffer that a process writes and a test reads.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (safe *safeBuffer) Write(text []byte) (int, error) {
	safe.mu.Lock()
	defer safe.mu.Unlock()
	return safe.buffer.Write(text)
}

func (safe *safeBuffer) String() string {
	safe.mu.Lock()
	defer safe.mu.Unlock()
	return safe.buffer.String()
}
