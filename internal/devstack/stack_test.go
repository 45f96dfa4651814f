package devstack

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
)

func startStack(t *testing.T, options Options) *Stack {
	t.Helper()
	options.Postgres.Disposable = true
	options.Postgres.Progress, options.Temporal.Progress = t.Output(), t.Output()
	stack, err := Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stack.Stop(context.Background())) })
	return stack
}

// TestStackRunsEverything, and its end is no crash.
func TestStackRunsEverything(t *testing.T) {
	t.Parallel()
	stack := startStack(t, Options{})
	require.Equal(t, "1", ask(t, connect(t, stack.DatabaseURL), "SELECT '1'"))
	require.NotEmpty(t, stack.TemporalAddress)
	require.NotEmpty(t, stack.TemporalUIURL)
	response, err := http.Get(stack.ThirdParty.URL + "/arrivals")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	http.DefaultClient.CloseIdleConnections()

	require.NoError(t, stack.Context().Err())
	require.NoError(t, stack.Stop(t.Context()))
	require.ErrorIs(t, context.Cause(stack.Context()), ErrStopped)
}

// TestStackNamesThePartThatCrashed, and stops the others.
func TestStackNamesThePartThatCrashed(t *testing.T) {
	t.Parallel()
	stack := startStack(t, Options{TemporalAddress: "127.0.0.1:1"})
	require.Equal(t, "127.0.0.1:1", stack.TemporalAddress)
	var postgres *Postgres
	for _, running := range stack.parts {
		if found, ok := running.server.(*Postgres); ok {
			postgres = found
		}
	}
	require.NoError(t, syscall.Kill(postgres.server.command.Process.Pid, syscall.SIGKILL))
	select {
	case <-stack.Context().Done():
	case <-time.After(patience):
		require.Fail(t, "the crash did not end the stack")
	}
	var failed *PartError
	require.ErrorAs(t, context.Cause(stack.Context()), &failed)
	require.Equal(t, "postgres", failed.Part)
	require.ErrorContains(t, failed, "signal: killed")
	require.NoError(t, stack.Stop(t.Context()))
	requireStopped(t, stack.ThirdParty.Exited())
}

// TestStackThatCannotStartLeavesNothing: the part that failed is named, and one
// that was well under way is gone again.
func TestStackThatCannotStartLeavesNothing(t *testing.T) {
	directory, path := keptDirectory(t), t.TempDir()
	pidFile := filepath.Join(directory, "data", "postmaster.pid")
	program := "#!/bin/sh\nuntil [ -e " + pidFile + " ]; do sleep 0.02; done\nexit 3\n"
	require.NoError(t, os.WriteFile(filepath.Join(path, "temporal"), []byte(program), 0o755))
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	_, err := Start(t.Context(), Options{Postgres: PostgresOptions{Directory: directory, Disposable: true}})
	var failed *PartError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "temporal", failed.Part)
	require.ErrorContains(t, err, "exit status 3")
	_, err = os.Stat(pidFile)
	require.ErrorIs(t, err, os.ErrNotExist, "a Postgres was left behind")
	lockForTest(t, directory)()
}

// TestStackWithoutItsAddress names the part that could not have it.
func TestStackWithoutItsAddress(t *testing.T) {
	t.Parallel()
	occupied, err := thirdparty.Start(thirdparty.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, occupied.Stop(context.Background())) }()
	_, err = Start(t.Context(), Options{
		DatabaseURL:     "postgres://unused",
		TemporalAddress: "127.0.0.1:1",
		ThirdParty:      thirdparty.Options{Address: strings.TrimPrefix(occupied.URL, "http://")},
	})
	var failed *PartError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "third party", failed.Part)
}
