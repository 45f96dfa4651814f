package httpemitter

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// ways a server can break a connection it has read a request from.
var cuts = map[string]func(*testing.T, net.Conn){
	"Closed": func(_ *testing.T, socket net.Conn) { _ = socket.Close() },
	"Reset": func(t *testing.T, socket net.Conn) {
		require.NoError(t, socket.(*net.TCPConn).SetLinger(0))
		_ = socket.Close()
	},
	"HalfAStatusLine": func(_ *testing.T, socket net.Conn) {
		_, _ = io.WriteString(socket, "HTTP/1.1 2")
		_ = socket.Close()
	},
}

// TestOneArrivalWhenAKeptConnectionDies: net/http repeats a request that has an
// idempotency key when a reused connection breaks before an answer. That would
// be an attempt without a slot (G1).
func TestOneArrivalWhenAKeptConnectionDies(t *testing.T) {
	t.Parallel()
	for cut, how := range cuts {
		for kind, payload := range map[string]string{
			"Empty": "", "Small": "x", "Large": strings.Repeat("x", 1<<20),
		} {
			t.Run(cut+kind, func(t *testing.T) {
				t.Parallel()
				party := newWire(t, func(party *wire, socket net.Conn) {
					reader := bufio.NewReader(socket)
					if !party.read(reader) {
						return
					}
					_, _ = io.WriteString(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					if party.read(reader) {
						how(t, socket)
					}
				})
				target := newTarget(t, Options{URL: party.URL})
				requireVerdict(t, emitter.Emitted, emit(t, target, 1))
				message := emittertest.NewMessage(2)
				message.Payload = []byte(payload)
				requireVerdict(t, emitter.Uncertain, emitMessage(t, target, message))
				party.requireNumbers(t, 1, 2)
				require.Len(t, party.sockets, 1, "connections")
			})
		}
	}
}

// TestASecondConnectionRefuses: whatever net/http comes to do in a later version,
// an attempt's bytes leave through one connection.
func TestASecondConnectionRefuses(t *testing.T) {
	t.Parallel()
	var ended error
	attempt := newAttempt(unlimited, func(cause error) { ended = cause })
	first, second := newPipe(t), newPipe(t)
	attempt.ask()
	attempt.bind(first)
	requireWrites(t, first, "POST")
	require.NoError(t, ended)

	attempt.ask()
	require.ErrorIs(t, ended, errRepeated)
	attempt.bind(second)
	requireRefuses(t, second, errRepeated)
	requireWrites(t, first, " /")
	require.True(t, attempt.settle(errOver))
}

// TestRedirectsAreNotFollowed: a 307 would send the work again, unseen.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			party := newParty(t, func(writer http.ResponseWriter, read *http.Request) {
				if read.URL.Path == "/" {
					writer.Header().Set("Location", "/again")
					writer.WriteHeader(status)
				}
			})
			outcome := emit(t, newTarget(t, Options{URL: party.URL + "/"}), 1)
			requireVerdict(t, emitter.Rejected, outcome)
			require.Equal(t, status, outcome.Status)
			party.requireNumbers(t, 1)
		})
	}
}

// TestConnectionsAreReused, and never more of them than allowed.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"NoBody": 0, "Body": 500, "BodyOfTheBound": responseBytesMin} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newParty(t, func(writer http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(writer, strings.Repeat("x", size))
			})
			target := newTarget(t, Options{
				URL: party.URL, ResponseBytesMax: responseBytesMin, IdleTimeout: liveness,
			})
			for number := range int64(10) {
				requireVerdict(t, emitter.Emitted, emit(t, target, number+1))
			}
			require.Equal(t, 1, party.connected())
		})
	}
}

// TestTheEndOfABodyIsAwaited: a body of just the bound, whose last chunk comes
// later, does not cost the connection.
func TestTheEndOfABodyIsAwaited(t *testing.T) {
	t.Parallel()
	party := newWire(t, func(party *wire, socket net.Conn) {
		for reader := bufio.NewReader(socket); party.read(reader); {
			_, _ = fmt.Fprintf(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n",
				responseBytesMin, strings.Repeat("x", responseBytesMin))
			<-time.After(soon / 5) // so that the client has read what is there
			_, _ = io.WriteString(socket, "0\r\n\r\n")
		}
	})
	target := newTarget(t, Options{URL: party.URL, ResponseBytesMax: responseBytesMin, IdleTimeout: liveness})
	for number := range int64(3) {
		requireVerdict(t, emitter.Emitted, emit(t, target, number+1))
	}
	require.Len(t, party.sockets, 1, "connections")
}

func TestConnectionsMax(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	party := newParty(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	target := newTarget(t, Options{URL: party.URL, ConnectionsMax: 2, Timeout: liveness, IdleTimeout: liveness})
	outcomes := make(chan emitter.Outcome, 6)
	for number := range int64(6) {
		go func() { outcomes <- target.Emit(t.Context(), emittertest.NewMessage(number+1)) }()
	}
	<-arrived
	<-arrived
	require.Len(t, party.all(), 2)
	go func() {
		for range 4 {
			<-arrived
		}
	}()
	close(release)
	for range 6 {
		requireVerdict(t, emitter.Emitted, <-outcomes)
	}
	require.LessOrEqual(t, party.connected(), 2)
}
