package filelock

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTryRefusesWhileHeld: one holder at a time, and the next after it.
func TestTryRefusesWhileHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Try(path)
	require.NoError(t, err)
	_, err = Try(path)
	require.ErrorIs(t, err, ErrHeld)
	unlock()
	unlock, err = Try(path)
	require.NoError(t, err)
	unlock()
}

// TestLockExcludes: holders never overlap.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, overlaps atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			unlock, err := Lock(t.Context(), path, func() {})
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			for range 1000 { // long enough for another to come in, were it let in
				if holders.Add(1) != 1 {
					overlaps.Add(1)
				}
				runtime.Gosched()
				holders.Add(-1)
			}
		})
	}
	group.Wait()
	require.Zero(t, overlaps.Load())
}

// TestLockGivesUpWithItsContext, and says once that it waits.
func TestLockGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Try(path)
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err = Lock(ctx, path, func() { told++; cancel() })
	require.ErrorIs(t, err, ErrHeld)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, told)
}

// TestMissingDirectory is an error of its own, not a held lock.
func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	_, err := Lock(t.Context(), filepath.Join(t.TempDir(), "no", "lock"), func() {})
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrHeld)
}
