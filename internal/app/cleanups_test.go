package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestCleanups_LastFirstWhateverTheOthersCameTo(t *testing.T) {
	t.Parallel()
	var order []string
	cleanups := cleanups{logger: zap.NewNop()}
	for _, name := range []string{"database", "Temporal", "workers"} {
		cleanups.add(name, time.Second, func(ctx context.Context) error {
			require.NoError(t, ctx.Err(), "the end of the process's context ends no clean-up")
			order = append(order, name)
			if name == "Temporal" {
				return errors.New("broke")
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, cleanups.close(ctx), "stop Temporal: broke")
	require.Equal(t, []string{"workers", "Temporal", "database"}, order)
	require.NoError(t, cleanups.close(ctx), "a second time")
	require.Len(t, order, 3)
}

// A step that hangs neither stops the others nor holds the process.
func TestCleanups_LeavesAHangingStepBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, closed := make(chan struct{}), false
		cleanups := cleanups{logger: zap.NewNop()}
		cleanups.add("database", time.Minute, func(context.Context) error { closed = true; return nil })
		cleanups.add("workers", time.Minute, func(context.Context) error { <-release; return nil })
		begun := time.Now()
		require.EqualError(t, cleanups.close(t.Context()), "stop workers: not done after 1m0s")
		require.Equal(t, time.Minute+stragglerGrace, time.Since(begun))
		require.True(t, closed)
		close(release)
	})
}
