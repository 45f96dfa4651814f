package toolcache

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines collects what several builds say.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func small(t *testing.T) Tool {
	t.Helper()
	tool, err := Find("workflowcheck")
	require.NoError(t, err)
	return tool
}

// TestBuildHappensOnce: several callers at once, one compilation, one runnable
// program, and a person is told what is going on.
func TestBuildHappensOnce(t *testing.T) {
	t.Setenv(DirectoryVariable, t.TempDir())
	var said lines
	var group sync.WaitGroup
	paths := make([]string, 3)
	errs := make([]error, len(paths))
	for i := range paths {
		group.Go(func() { paths[i], errs[i] = Build(t.Context(), small(t), &said) })
	}
	group.Wait()
	for i, err := range errs {
		require.NoError(t, err)
		require.Equal(t, paths[0], paths[i])
	}
	require.Equal(t, 1, strings.Count(said.String(), "building the check for workflow determinism from tools/go.mod, once"),
		"said:\n%s", said.String())
	require.Equal(t, 1, strings.Count(said.String(), "built the check"), "said:\n%s", said.String())
	require.NoError(t, exec.Command(paths[0], "-h").Run())

	before := said.String()
	again, err := Build(t.Context(), small(t), &said)
	require.NoError(t, err)
	require.Equal(t, paths[0], again)
	require.Equal(t, before, said.String(), "a program that is there is no news")
}

// TestBuildStopsWithItsContext: a cancelled build is an error and leaves no
// program that a later call would trust.
func TestBuildStopsWithItsContext(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(DirectoryVariable, cache)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Build(ctx, small(t), &lines{})
	require.ErrorIs(t, err, context.Canceled)
	left, err := filepath.Glob(filepath.Join(cache, "bin", "workflowcheck-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestBuildWaitsForTheLock: while another holds the lock, Build waits and says
// so instead of building beside it.
func TestBuildWaitsForTheLock(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(DirectoryVariable, cache)
	require.NoError(t, os.MkdirAll(filepath.Join(cache, "bin"), 0o755))
	unlock, err := filelock.Try(filepath.Join(cache, "bin", "workflowcheck.lock"))
	require.NoError(t, err)
	defer unlock()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := cancelOnWrite{cancel: cancel}
	_, err = Build(ctx, small(t), &said)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "waiting for another process that builds the check for workflow determinism\n", said.text)
}

type cancelOnWrite struct {
	cancel context.CancelFunc
	text   string
}

func (c *cancelOnWrite) Write(text []byte) (int, error) {
	c.text += string(text)
	c.cancel()
	return len(text), nil
}

// TestChangedPinIsAnotherProgram: the digest follows both files of the pins.
func TestChangedPinIsAnotherProgram(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600))
	}
	write("go.mod", "module x\n")
	write("go.sum", "one\n")
	first, err := pinsDigest(directory)
	require.NoError(t, err)
	again, err := pinsDigest(directory)
	require.NoError(t, err)
	require.Equal(t, first, again)
	write("go.sum", "two\n")
	second, err := pinsDigest(directory)
	require.NoError(t, err)
	write("go.mod", "module y\n")
	third, err := pinsDigest(directory)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NotEqual(t, second, third)
}

// TestRoot: found from below, missed outside.
func TestRoot(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "tools", "go.mod"))
	t.Chdir(filepath.Join(root, "tools"))
	fromTools, err := Root()
	require.NoError(t, err)
	require.Equal(t, root, fromTools)

	t.Chdir(t.TempDir())
	_, err = Root()
	require.ErrorIs(t, err, ErrOutsideCheckout)
	_, err = Build(t.Context(), Temporal(), &lines{})
	require.ErrorIs(t, err, ErrOutsideCheckout)
}

// TestFind names what is accepted when asked for something else.
func TestFind(t *testing.T) {
	t.Parallel()
	tool, err := Find("temporal")
	require.NoError(t, err)
	require.Equal(t, Temporal(), tool)
	_, err = Find("hammer")
	require.ErrorContains(t, err, `tool "hammer" is not pinned`)
	require.ErrorContains(t, err, "temporal, golangci-lint, workflowcheck, gremlins")
}
