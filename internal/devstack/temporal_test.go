package devstack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func startTemporal(t *testing.T) *Temporal {
	t.Helper()
	temporal, err := StartTemporal(t.Context(), TemporalOptions{Progress: t.Output(), Log: t.Output()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, temporal.Stop(context.Background())) })
	return temporal
}

// TestTemporalRunsAWorkflow, shows it in a web interface, and ends quietly.
func TestTemporalRunsAWorkflow(t *testing.T) {
	t.Parallel()
	temporal := startTemporal(t)
	connection, err := client.Dial(client.Options{
		HostPort:  temporal.HostPort,
		Namespace: temporal.Namespace,
		Logger:    log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	defer connection.Close()
	runner := worker.New(connection, "double", worker.Options{})
	runner.RegisterWorkflowWithOptions(func(_ workflow.Context, number int) (int, error) {
		return 2 * number, nil
	}, workflow.RegisterOptions{Name: "double"})
	require.NoError(t, runner.Start())
	defer runner.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run, err := connection.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "double"}, "double", 21)
	require.NoError(t, err)
	var doubled int
	require.NoError(t, run.Get(ctx, &doubled))
	require.Equal(t, 42, doubled)

	browser := &http.Client{Timeout: patience}
	defer browser.CloseIdleConnections()
	var page []byte
	require.Eventually(t, func() bool { // the interface connects to the server in its own time
		answer, err := browser.Get(temporal.UIURL + "/api/v1/namespaces")
		if err != nil {
			return false
		}
		page, err = io.ReadAll(answer.Body)
		return errors.Join(err, answer.Body.Close()) == nil && answer.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond)
	require.Contains(t, string(page), `"name": "default"`)

	require.NoError(t, temporal.Stop(t.Context()))
	requireStopped(t, temporal.Exited())
	require.NotContains(t, temporal.server.command.ProcessState.String(), "killed", "it must follow a polite signal")
}

// TestTemporalsCrashIsReported once, and stopping afterwards is no error.
func TestTemporalsCrashIsReported(t *testing.T) {
	t.Parallel()
	temporal := startTemporal(t)
	require.NoError(t, syscall.Kill(temporal.server.command.Process.Pid, syscall.SIGKILL))
	select {
	case err := <-temporal.Exited():
		require.ErrorContains(t, err, "temporal ended by itself (signal: killed)")
	case <-time.After(patience):
		require.Fail(t, "the crash was not reported")
	}
	require.NoError(t, temporal.Stop(t.Context()))
}

// TestTemporalDiesWithItsProcess: nothing listens after a SIGKILL of the process
// that started it. Only Linux sees to that.
func TestTemporalDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	victim, address := startVictim(t, "temporal")
	dial := func() error {
		connection, err := net.DialTimeout("tcp", address, connectTimeout)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	require.NoError(t, dial())
	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	if canJudgeProcesses {
		require.Eventually(t, func() bool { return dial() != nil }, patience, 20*time.Millisecond)
	}
}

// TestTemporalPrefersThePath, and reports a program that does not start with
// what it said.
func TestTemporalPrefersThePath(t *testing.T) {
	directory := t.TempDir()
	program := filepath.Join(directory, "temporal")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"no $1 today\" >&2\nexit 3\n"), 0o755))
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	_, err := StartTemporal(t.Context(), TemporalOptions{})
	require.ErrorContains(t, err, "start temporal: temporal ended by itself (exit status 3): no server today")
}

// TestTemporalOutsideACheckout says what to do instead of building.
func TestTemporalOutsideACheckout(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir())
	_, err := StartTemporal(t.Context(), TemporalOptions{})
	require.ErrorContains(t, err, "put a `temporal` on PATH, or set TEMPORAL_ADDRESS")
}
