package emitter_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

// TestTooLate: either clock stops an attempt (G1).
func TestTooLate(t *testing.T) {
	t.Parallel()
	sendBy := time.Now()
	message := emitter.Message{SendBy: sendBy}
	require.False(t, message.TooLate(sendBy.Add(-1)))
	require.False(t, message.TooLate(sendBy), "the last instant itself")
	require.True(t, message.TooLate(sendBy.Add(1)))
	require.True(t, message.TooLate(sendBy.Round(0).Add(1)), "an instant without a monotonic reading")
	require.True(t, message.TooLate(withWall(t, sendBy.Add(-1), time.Second)), "after a suspension")
	require.True(t, message.TooLate(withWall(t, sendBy.Add(1), -time.Hour)), "clock set back")
	require.False(t, emitter.Message{}.TooLate(sendBy), "no limit")
}

// withWall shifts an instant's wall clock reading alone, by whole seconds, which
// the time package offers no way to do.
func withWall(t *testing.T, instant time.Time, shift time.Duration) time.Time {
	t.Helper()
	const secondsShift = 30 // the first word holds the seconds above the nanoseconds
	shifted := instant
	words := (*[2]uint64)(unsafe.Pointer(&shifted))
	words[0] += uint64(int64(shift/time.Second)) << secondsShift
	require.Zero(t, shifted.Sub(instant), "by the monotonic clock")
	require.Equal(t, shift, shifted.Round(0).Sub(instant.Round(0)), "by the wall clock")
	return shifted
}
