package devstack

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startShell runs a script until it has said "ready".
func startShell(t *testing.T, script string) *process {
	t.Helper()
	ready := make(chan struct{}, 1)
	child, err := startProcess("shell", exec.Command("sh", "-c", script), newTail(onWrite(func(line string) {
		if strings.Contains(line, "ready") {
			ready <- struct{}{}
		}
	})), syscall.SIGKILL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.stop(context.Background())) })
	select {
	case <-ready:
	case <-time.After(patience):
		require.Fail(t, "the script did not come up")
	}
	return child
}

// TestStopEscalates until the child has gone, with what it started itself.
func TestStopEscalates(t *testing.T) {
	t.Parallel()
	child := startShell(t, `trap "" INT QUIT; sleep 1000 & echo ready; wait; while :; do sleep 1; done`)
	require.NoError(t, child.stop(t.Context(),
		stopStep{signal: syscall.SIGINT, grace: time.Millisecond},
		stopStep{signal: syscall.SIGQUIT, grace: time.Millisecond}))
	require.Equal(t, "signal: killed", child.command.ProcessState.String())
	requireStopped(t, child.exited)
	require.Eventually(t, func() bool {
		return errors.Is(syscall.Kill(-child.command.Process.Pid, 0), syscall.ESRCH)
	}, patience, 10*time.Millisecond, "the group lives on")
	require.NoError(t, child.stop(t.Context()), "a second time")
}

// TestStopIsPoliteFirst: a child that follows the first signal is not killed.
func TestStopIsPoliteFirst(t *testing.T) {
	t.Parallel()
	child := startShell(t, `trap "exit 7" INT; echo ready; while :; do sleep 0.01; done`)
	require.NoError(t, child.stop(t.Context(), stopStep{signal: syscall.SIGINT, grace: patience}))
	require.Equal(t, 7, child.command.ProcessState.ExitCode())
}

// TestStopIsHurriedByItsContext: an ended context skips the waiting.
func TestStopIsHurriedByItsContext(t *testing.T) {
	t.Parallel()
	child := startShell(t, `trap "" INT; echo ready; while :; do sleep 1; done`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, child.stop(ctx, stopStep{signal: syscall.SIGINT, grace: time.Hour}))
	require.Equal(t, "signal: killed", child.command.ProcessState.String())
}

// TestMissingProgramIsNamed.
func TestMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	_, err := startProcess("postgres", exec.Command("/nowhere/postgres"), newTail(nil), syscall.SIGKILL)
	require.ErrorContains(t, err, "start postgres: fork/exec /nowhere/postgres")
}

// TestTailPassesOnAndForgets: everything goes on, only the end is kept.
func TestTailPassesOnAndForgets(t *testing.T) {
	t.Parallel()
	var passed bytes.Buffer
	output := newTail(&passed)
	for range 3 * tailBytes / 10 {
		_, err := output.Write([]byte("0123456789"))
		require.NoError(t, err)
	}
	_, err := output.Write([]byte("the end"))
	require.NoError(t, err)
	require.Equal(t, 3*tailBytes/10*10+len("the end"), passed.Len())
	require.Len(t, output.String(), tailBytes)
	require.True(t, strings.HasSuffix(output.String(), "9the end"))
}
