//go:build unix

package httpemitter

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter/emittertest"
)

// frozenFor is how long after its start that process may send.
const frozenFor = 300 * time.Millisecond

// freezeBetweenConnectionAndWrite is that process: the kernel stops it when it
// has its connection, and nothing of it runs until another lets it go on.
func freezeBetweenConnectionAndWrite() {
	target, err := newEmitter(Options{URL: os.Getenv(urlVariable)}, noProxy)
	if err != nil {
		fmt.Println("cannot begin:", err)
		return
	}
	message := emittertest.NewMessage(1)
	message.SendBy = time.Now().Add(frozenFor)
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			begun := time.Now()
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			// The kernel may stop the other threads first.
			for time.Since(begun) < frozenFor/2 {
				runtime.Gosched()
			}
		},
	})
	fmt.Println(target.Emit(ctx, message).Verdict)
}

// TestAFrozenProcessSendsNothingLate: a process that the kernel stops between
// the check and the send, and lets go on in the next window (G1).
func TestAFrozenProcessSendsNothingLate(t *testing.T) {
	t.Parallel()
	bytes := make(chan int, 1)
	party := newWire(t, func(_ *wire, socket net.Conn) {
		read, _ := socket.Read(make([]byte, 1))
		bytes <- read
	})
	frozen := child("frozen", party.URL)
	output, err := frozen.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, frozen.Start())
	t.Cleanup(func() { _ = frozen.Process.Kill() }) // ends it if the test failed

	var status syscall.WaitStatus
	_, err = syscall.Wait4(frozen.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped(), "it ended before it was frozen")
	<-time.After(frozenFor + 10*time.Millisecond)
	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))

	verdict, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "unsent\n", verdict)
	require.NoError(t, frozen.Wait())
	require.Zero(t, <-bytes, "bytes that left")
}
