package httpemitter

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

// noLimit is a SendBy that never passes, unlimited a message with it.
var (
	noLimit   time.Time
	unlimited emitter.Message
)

// newPipe is a connection whose other end takes everything.
func newPipe(t *testing.T) *connection {
	t.Helper()
	near, far := net.Pipe()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, far)
	}()
	t.Cleanup(func() {
		_ = near.Close()
		<-drained
	})
	return &connection{Conn: near}
}

// newBoundPipe belongs to an attempt that may send until sendBy.
func newBoundPipe(t *testing.T, sendBy time.Time) (*attempt, *connection) {
	attempt := newAttempt(emitter.Message{SendBy: sendBy}, func(error) {})
	conn := newPipe(t)
	attempt.bind(conn)
	return attempt, conn
}

func requireWrites(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	written, err := io.WriteString(conn, text)
	require.NoError(t, err)
	require.Equal(t, len(text), written)
}

func requireRefuses(t *testing.T, conn net.Conn, want error) {
	t.Helper()
	written, err := io.WriteString(conn, "POST")
	require.ErrorIs(t, err, want)
	require.Zero(t, written)
}

// TestTheWriteItselfChecks: no timer is needed for a late byte to be kept back
// (G1).
func TestTheWriteItselfChecks(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, time.Now().Add(-time.Nanosecond))
	requireRefuses(t, conn, errTooLate)
	requireRefuses(t, conn, errTooLate)
	require.False(t, attempt.settle(errOver))
}

// TestWhatBeganMayEnd: the rest of a request may follow its first byte.
func TestWhatBeganMayEnd(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, noLimit)
	requireWrites(t, conn, "POST")
	attempt.message.SendBy = time.Now().Add(-time.Second)
	requireWrites(t, conn, " / HTTP/1.1")
	require.True(t, attempt.settle(errOver))
	requireWrites(t, conn, "\r\n")
}

// TestSettledIsFinal: once unsent was said, nothing leaves any more.
func TestSettledIsFinal(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, noLimit)
	require.False(t, attempt.settle(errOver))
	requireRefuses(t, conn, errOver)
	require.False(t, attempt.settle(errOver))
}

// TestTheTimerSaysWhy, whichever of the two the caller hears of first.
func TestTheTimerSaysWhy(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	attempt := newAttempt(emitter.Message{SendBy: time.Now().Add(time.Millisecond)},
		func(cause error) { ended <- cause })
	conn := newPipe(t)
	attempt.bind(conn)
	defer attempt.watch(time.Now())()
	require.ErrorIs(t, <-ended, errTooLate)
	requireRefuses(t, conn, errTooLate)
}

// TestAWriteUnderwayIsSent: whether the kernel took anything is not known yet.
func TestAWriteUnderwayIsSent(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, noLimit)
	require.NoError(t, attempt.leave(conn))
	require.True(t, attempt.settle(errOver))
	attempt.left(0, io.ErrClosedPipe)
	require.Equal(t, waiting, attempt.stage)
}

// TestWhatTheKernelRefusedWasNotSent: as when a kept connection is found closed.
func TestWhatTheKernelRefusedWasNotSent(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, noLimit)
	require.NoError(t, conn.Close())
	requireRefuses(t, conn, io.ErrClosedPipe)
	require.False(t, attempt.settle(errOver))
}

type partial struct{ net.Conn }

func (partial) Write([]byte) (int, error) { return 1, errors.New("broken") }

func TestOneByteIsSent(t *testing.T) {
	t.Parallel()
	attempt, conn := newBoundPipe(t, noLimit)
	conn.Conn = partial{conn.Conn}
	_, err := io.WriteString(conn, "POST")
	require.Error(t, err)
	require.True(t, attempt.settle(errOver))
}

// TestUnwatchedBytesCountAsSent: over-count, never under-count.
func TestUnwatchedBytesCountAsSent(t *testing.T) {
	t.Parallel()
	attempt := newAttempt(unlimited, nil)
	attempt.bind(newPipe(t).Conn)
	require.True(t, attempt.settle(errOver))
}

func TestWrappedLooksUnderTLS(t *testing.T) {
	t.Parallel()
	conn := newPipe(t)
	require.Same(t, conn, wrapped(conn))
	require.Same(t, conn, wrapped(tls.Client(tls.Client(conn, nil), nil)))
	require.Nil(t, wrapped(conn.Conn))
	require.Nil(t, wrapped(nil))
}
