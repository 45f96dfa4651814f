package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
	"github.com/adjourn/adjourn/work"
)

// patience bounds every wait: a liveness bound, no assertion on speed.
const patience = 90 * time.Second

// process is the command in a process of its own.
type process struct {
	command *exec.Cmd
	stdout  lockedBuffer
	stderr  lockedBuffer
	ended   chan error
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (buffer *lockedBuffer) Write(text []byte) (int, error) {
	buffer.mu.Lock()
	defer buffer.mu.Unlock()
	return buffer.text.Write(text)
}

func (buffer *lockedBuffer) String() string {
	buffer.mu.Lock()
	defer buffer.mu.Unlock()
	return buffer.text.String()
}

func startProcess(t *testing.T, arguments ...string) *process {
	t.Helper()
	return startProcessReading(t, nil, arguments...)
}

func startProcessReading(t *testing.T, stdin io.Reader, arguments ...string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	started := &process{command: exec.CommandContext(context.WithoutCancel(t.Context()), program, arguments...), ended: make(chan error, 1)}
	started.command.Env = append(os.Environ(), runAsCommand+"=1")
	started.command.Stdin = stdin
	started.command.Stdout, started.command.Stderr = &started.stdout, &started.stderr
	require.NoError(t, started.command.Start())
	go func() { started.ended <- started.command.Wait() }()
	t.Cleanup(func() {
		// Ended already unless the test failed before.
		if err := started.command.Process.Kill(); err == nil {
			t.Logf("%v: %s", arguments, started.stderr.String())
		}
	})
	return started
}

// wait returns the exit status.
func (process *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case err := <-process.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		require.NoError(t, err)
		return statusOK
	case <-time.After(patience):
		require.Fail(t, "the process did not end", process.stderr.String())
		return -1
	}
}

func (process *process) stop(t *testing.T, signal os.Signal) int {
	t.Helper()
	require.NoError(t, process.command.Process.Signal(signal))
	return process.wait(t)
}

var listening = regexp.MustCompile(`"address":"([^"]+)"`)

// address is where the process listens, once it does.
func (process *process) address(t *testing.T) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = listening.FindStringSubmatch(process.stderr.String())
		return found != nil
	}, patience, 10*time.Millisecond)
	return found[1]
}

func TestProcess_ExitStatuses(t *testing.T) {
	newDatabase(t, "TEMPORAL_ADDRESS=127.0.0.1:1", "EMITTER_URL=http://127.0.0.1:1/works")
	require.Equal(t, statusOK, startProcess(t, "version").wait(t))
	require.Equal(t, statusUsage, startProcess(t, "wrong").wait(t))
	require.Equal(t, statusUsage, startProcess(t, "worker", "--lanes", "fast").wait(t))
	worker := startProcess(t, "worker")
	require.Equal(t, statusFailed, worker.wait(t))
	require.Contains(t, worker.stderr.String(), "TEMPORAL_ADDRESS")
	t.Setenv("EMITTER_URL", "")
	worker = startProcess(t, "worker")
	require.Equal(t, statusUsage, worker.wait(t))
	require.Contains(t, worker.stderr.String(), "EMITTER_URL is not set")
}

// SIGINT and SIGTERM both end a server gracefully; its results are none, so
// stdout stays empty.
func TestProcess_ServerStopsOnSignals(t *testing.T) {
	newDatabase(t, "TEMPORAL_ADDRESS=127.0.0.1:1", "ADJOURN_SERVER_ADDR=127.0.0.1:0")
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		server := startProcess(t, "server")
		server.address(t)
		require.Equal(t, statusOK, server.stop(t, signal), server.stderr.String())
		require.Empty(t, server.stdout.String())
		require.Contains(t, server.stderr.String(), "server stopping")
	}
}

// A command that cannot stop is ended by the second signal.
func TestProcess_SecondSignalEndsAtOnce(t *testing.T) {
	url := newDatabase(t)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, writer.Close()) }()
	waiting := startProcessReading(t, reader, "work", "submit", "--file", "-") // for input that never comes
	require.NoError(t, reader.Close())
	for begun := time.Now(); query[int64](t, url,
		`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'adjourn command'
			AND state = 'idle' AND query = 'SELECT clock_timestamp()'`) == 0; {
		require.Less(t, time.Since(begun), patience)
	}
	require.NoError(t, waiting.command.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-waiting.ended:
		require.Fail(t, "the first signal is for a graceful end", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.Equal(t, -1, waiting.stop(t, syscall.SIGTERM), "ended by the signal")
}

// An address that is taken is said, with its setting.
func TestProcess_ServerOnATakenAddress(t *testing.T) {
	newDatabase(t, "TEMPORAL_ADDRESS=127.0.0.1:1", "ADJOURN_SERVER_ADDR=127.0.0.1:0")
	first := startProcess(t, "server")
	t.Setenv("ADJOURN_SERVER_ADDR", first.address(t))
	second := startProcess(t, "server")
	require.Equal(t, statusFailed, second.wait(t))
	require.Contains(t, second.stderr.String(), "ADJOURN_SERVER_ADDR")
	require.Equal(t, statusOK, first.stop(t, syscall.SIGTERM))
}

// The way of the README: migrate, set up, run a worker, submit, look, stop.
func TestProcess_FromAnEmptyDatabaseToAnEmission(t *testing.T) {
	temporal, err := devstack.StartTemporal(t.Context(), devstack.TemporalOptions{Progress: os.Stderr})
	require.NoError(t, err)
	defer func() { require.NoError(t, temporal.Stop(context.WithoutCancel(t.Context()))) }()
	party, err := thirdparty.Start(thirdparty.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, party.Stop(context.WithoutCancel(t.Context()))) }()
	newDatabase(t, "TEMPORAL_ADDRESS="+temporal.HostPort, "TEMPORAL_NAMESPACE="+temporal.Namespace,
		"EMITTER_URL="+party.URL+"/works", "QUOTA_ENFORCE=invoice:false", "QUOTA_HOURLY_CEILING=1000",
		"DISPATCH_INTERVAL=1s", "DISPATCH_JITTER=0s", "ADJOURN_METRICS_ADDR=127.0.0.1:0")

	require.Equal(t, statusOK, adjourn(t, "migrate", "up").status)
	steps := decode[[]stepView](t, adjourn(t, "setup", "--output", "json"))
	require.Equal(t, "created", steps[len(steps)-1].Result)
	again := adjourn(t, "setup")
	require.Equal(t, statusOK, again.status, again.stderr)
	require.Equal(t, len(steps), strings.Count(again.stdout, "already there"), again.stdout)

	submitted := decode[submittedView](t, adjourn(t, "work", "submit", "--flow", "invoice",
		"--payload", `{"invoice":"F-1"}`, "--deadline-in", "48h", "--output", "json"))
	worker := startProcess(t, "worker")
	var shown showView
	for begun := time.Now(); shown.State != work.Emitted; <-time.After(100 * time.Millisecond) {
		got := adjourn(t, "work", "show", submitted.ID.String(), "--output", "json")
		shown = decode[showView](t, got)
		require.Less(t, time.Since(begun), patience, "%s\n%s", got.stdout, worker.stderr.String())
	}
	require.EqualValues(t, 1, shown.Number)
	require.Equal(t, 200, shown.Receipt.Status)
	require.Len(t, shown.Made, 1)
	require.Contains(t, adjourn(t, "work", "show", submitted.ID.String()).stdout, "the third party accepted it")
	quota := decode[quotaView](t, adjourn(t, "quota", "show", "--output", "json"))
	require.Equal(t, 1, quota.Used)
	require.EqualValues(t, 1, quota.Flows[0].Granted)

	require.Equal(t, statusOK, worker.stop(t, syscall.SIGTERM), worker.stderr.String())
	require.Empty(t, worker.stdout.String())
	require.Len(t, party.Arrivals(), 1)
}
