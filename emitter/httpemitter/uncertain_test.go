package httpemitter

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

const secretPayload = "payload-that-nobody-may-quote"

// TestUncertainWithoutAnAnswer: the third party has read the work and says
// nothing that can be understood.
func TestUncertainWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*wire, net.Conn){
		"Closed": answering(""),
		"Reset": func(party *wire, socket net.Conn) {
			if party.read(bufio.NewReader(socket)) {
				_ = socket.(*net.TCPConn).SetLinger(0) // fails if the client was faster
			}
		},
		"NeverAnswers": func(party *wire, socket net.Conn) {
			party.read(bufio.NewReader(socket))
			_, _ = io.Copy(io.Discard, socket)
		},
		"Garbage":           answering("220 ready " + secretPayload + "\r\n\r\n"),
		"StatusNotANumber":  answering("HTTP/1.1 " + secretPayload + " OK\r\n\r\n"),
		"StatusNegative":    answering("HTTP/1.1 -20 OK\r\n\r\n"),
		"BadHeader":         answering("HTTP/1.1 200 OK\r\n" + secretPayload + "\r\n\r\n"),
		"TwoLengths":        answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
		"BadLength":         answering("HTTP/1.1 200 OK\r\nContent-Length: " + secretPayload + "\r\n\r\n"),
		"HeadersCutShort":   answering("HTTP/1.1 200 OK\r\nContent-Le"),
		"HeadersTooLarge":   answering("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", responseHeaderBytesMax+1)),
		"HeadersNeverEnd":   flooding("HTTP/1.1 200 OK\r\n", "X: x\r\n"),
		"InformationsFlood": flooding("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
		"HTTP2":             answering("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newWire(t, serve)
			message := emittertest.NewMessage(1)
			message.Payload = []byte(secretPayload)
			timeout := liveness
			if name == "NeverAnswers" {
				timeout = soon
			}
			outcome := emitMessage(t, newTarget(t, Options{URL: party.URL, Timeout: timeout}), message)
			requireVerdict(t, emitter.Uncertain, outcome)
			require.NotContains(t, outcome.Detail, secretPayload)
			require.Zero(t, outcome.Status)
			require.Equal(t, name == "NeverAnswers", strings.Contains(outcome.Detail, "time-out"), outcome.Detail)
			party.requireNumbers(t, 1)
		})
	}
}

// flooding reads a request and answers without end.
func flooding(begin, repeat string) func(*wire, net.Conn) {
	return func(party *wire, socket net.Conn) {
		if !party.read(bufio.NewReader(socket)) {
			return
		}
		_, err := io.WriteString(socket, begin)
		for chunk := strings.Repeat(repeat, 100); err == nil; {
			_, err = io.WriteString(socket, chunk)
		}
	}
}

func TestCancelledAfterSending(t *testing.T) {
	t.Parallel()
	party := newWire(t, func(party *wire, socket net.Conn) {
		party.read(bufio.NewReader(socket))
		_, _ = io.Copy(io.Discard, socket)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-party.arrived
		cancel()
	}()
	outcome := newTarget(t, Options{URL: party.URL}).Emit(ctx, emittertest.NewMessage(1))
	emittertest.RequireWellFormed(t, outcome)
	requireVerdict(t, emitter.Uncertain, outcome)
	require.Contains(t, outcome.Detail, "cancelled after sending")
}

// TestCutWhileSending: part of the work has left.
func TestCutWhileSending(t *testing.T) {
	t.Parallel()
	party := newWire(t, func(_ *wire, socket net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(socket))
		_ = socket.(*net.TCPConn).SetLinger(0) // the rest is lost
	})
	message := emittertest.NewMessage(1)
	message.Payload = bytes.Repeat([]byte("x"), 8<<20)
	requireVerdict(t, emitter.Uncertain, emitMessage(t, newTarget(t, Options{URL: party.URL}), message))
}

// early answers before it has read the payload; then reads it, or does not.
func early(answer string, reads bool) func(*wire, net.Conn) {
	return func(party *wire, socket net.Conn) {
		reader := bufio.NewReader(socket)
		read, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.WriteString(socket, answer)
		if reads && party.enter(read) == nil {
			party.read(reader)
			return
		}
		<-party.over
	}
}

// TestAcceptedBeforeItWasSent: a 2xx says that the work was accepted, but nobody
// can accept what was never sent whole (G9).
func TestAcceptedBeforeItWasSent(t *testing.T) {
	t.Parallel()
	const accepted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, example := range map[string]struct {
		serve func(*wire, net.Conn)
		want  emitter.Verdict
	}{
		"NeverSentWhole": {early(accepted, false), emitter.Uncertain},
		"ThenSentWhole":  {early(accepted, true), emitter.Emitted},
		"RefusedEarly":   {early("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", false), emitter.Rejected},
		"LimitedEarly":   {early("HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", false), emitter.Limited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newWire(t, example.serve)
			timeout := liveness
			if example.want == emitter.Uncertain {
				timeout = 2 * soon
			}
			message := emittertest.NewMessage(1)
			message.Payload = bytes.Repeat([]byte("x"), 16<<20)
			outcome := emitMessage(t, newTarget(t, Options{URL: party.URL, Timeout: timeout}), message)
			requireVerdict(t, example.want, outcome)
			require.NotZero(t, outcome.Status)
		})
	}
}
