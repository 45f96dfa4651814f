package httpemitter

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// soon is long enough to get a connection in, short enough to wait for.
const soon = 150 * time.Millisecond

// frozenAt holds an emission between having a connection and writing to it until
// its SendBy has passed.
func frozenAt(ctx context.Context, sendBy time.Time, reused *bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			*reused = info.Reused
			<-time.After(time.Until(sendBy) + time.Millisecond)
		},
	})
}

// TestNothingLeavesAfterSendBy although the check before passed: on a new, a
// kept and an encrypted connection (G1).
func TestNothingLeavesAfterSendBy(t *testing.T) {
	t.Parallel()
	plain := newParty(t, nil)
	encrypted := newTLSParty(t, nil, nil)
	for name, example := range map[string]struct {
		party *party
		tls   TLSOptions
		kept  bool
		empty bool
	}{
		"New":     {party: plain},
		"Kept":    {party: plain, kept: true},
		"TLS":     {party: encrypted, tls: trusting(t, encrypted)},
		"KeptTLS": {party: encrypted, tls: trusting(t, encrypted), kept: true},
		"Empty":   {party: plain, empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := newTarget(t, Options{URL: example.party.URL, TLS: example.tls, IdleTimeout: liveness})
			if example.kept {
				requireVerdict(t, emitter.Emitted, emit(t, target, 1))
			}
			late := emittertest.NewMessage(1000)
			late.SendBy = time.Now().Add(4 * soon) // the connection must be there by then
			if example.empty {
				late.Payload = nil
			}
			var reused bool
			outcome := target.Emit(frozenAt(t.Context(), late.SendBy, &reused), late)
			emittertest.RequireWellFormed(t, outcome)
			requireVerdict(t, emitter.Unsent, outcome)
			require.Contains(t, outcome.Detail, "last instant")
			require.Equal(t, example.kept, reused)
			requireVerdict(t, emitter.Emitted, emit(t, target, 2))
			for _, arrival := range example.party.arrivals() {
				require.Less(t, arrival.Number, int64(1000), "a late one arrived")
			}
		})
	}
}

// TestSendByPassesInAHandshake: the handshake's bytes are no attempt.
func TestSendByPassesInAHandshake(t *testing.T) {
	t.Parallel()
	greeted := make(chan struct{}, 1)
	party := newWire(t, func(_ *wire, socket net.Conn) {
		if _, err := bufio.NewReader(socket).ReadByte(); err == nil {
			greeted <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, socket)
	})
	target := newTarget(t, Options{URL: "https" + party.URL[len("http"):], ConnectTimeout: time.Second})
	message := emittertest.NewMessage(1)
	message.SendBy = time.Now().Add(soon)
	outcome := emitMessage(t, target, message)
	requireVerdict(t, emitter.Unsent, outcome)
	require.Contains(t, outcome.Detail, "last instant")
	<-greeted
}

// TestSendByPassesWaitingForAConnection: all are busy with a third party that
// does not answer.
func TestSendByPassesWaitingForAConnection(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	party := newParty(t, func(http.ResponseWriter, *http.Request) { <-release })
	target := newTarget(t, Options{URL: party.URL, ConnectionsMax: 1, Timeout: liveness})
	first := make(chan emitter.Outcome, 1)
	go func() { first <- target.Emit(t.Context(), emittertest.NewMessage(1)) }()
	<-party.arrived
	message := emittertest.NewMessage(2)
	message.SendBy = time.Now().Add(soon)
	requireVerdict(t, emitter.Unsent, emitMessage(t, target, message))
	close(release)
	requireVerdict(t, emitter.Emitted, <-first)
	party.requireNumbers(t, 1)
}

// TestSendByDoesNotCutAnAnswer: it is the first byte's limit, not the attempt's.
func TestSendByDoesNotCutAnAnswer(t *testing.T) {
	t.Parallel()
	message := emittertest.NewMessage(1)
	party := newParty(t, func(http.ResponseWriter, *http.Request) {
		<-time.After(time.Until(message.SendBy) + 10*time.Millisecond)
	})
	message.SendBy = time.Now().Add(soon)
	requireVerdict(t, emitter.Emitted, emitMessage(t, newTarget(t, Options{URL: party.URL}), message))
}

// TestTLSAfterTheHandshake: session tickets arrive on a connection that is bound.
func TestTLSAfterTheHandshake(t *testing.T) {
	t.Parallel()
	party := newTLSParty(t, nil, nil)
	options := trusting(t, party)
	options.VersionMin = "1.3"
	target := newTarget(t, Options{URL: party.URL, TLS: options, IdleTimeout: liveness})
	for number := range int64(3) {
		requireVerdict(t, emitter.Emitted, emit(t, target, number+1))
	}
	require.Equal(t, 1, party.connected())
	require.Equal(t, uint16(tls.VersionTLS13), party.all()[0].TLS.Version)
}
