package httpemitter

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// TestHeaders: the number and the key go with every attempt, the same each time.
func TestHeaders(t *testing.T) {
	t.Parallel()
	party := newParty(t, nil)
	target := newTarget(t, Options{URL: party.URL + "/works?tenant=7", Authorization: "Bearer 0123456789"})
	message := emitter.Message{
		WorkID: 41, Flow: "invoice", Stream: "invoice-2026", Number: 7, Lane: "override",
		IdempotencyKey: "order 41 é", ContentType: "application/xml", Payload: []byte("<a/>"),
	}
	for range 2 {
		requireVerdict(t, emitter.Emitted, emitMessage(t, target, message))
	}
	for _, arrived := range party.all() {
		require.Equal(t, "POST", arrived.Method)
		require.Equal(t, "/works?tenant=7", arrived.RequestURI)
		require.Equal(t, http.Header{
			"Adjourn-Work": {"41"}, "Adjourn-Flow": {"invoice"}, "Adjourn-Stream": {"invoice-2026"},
			"Adjourn-Number": {"7"}, "Adjourn-Lane": {"override"}, "Idempotency-Key": {"order 41 é"},
			"Content-Type": {"application/xml"}, "User-Agent": {"adjourn"}, "Content-Length": {"4"},
			"Authorization": {"Bearer 0123456789"},
		}, arrived.Header)
	}
	require.Len(t, party.all(), 2)
}

func TestHeadersDefault(t *testing.T) {
	t.Parallel()
	party := newParty(t, nil)
	message := emittertest.NewMessage(1)
	message.ContentType = ""
	emitMessage(t, newTarget(t, Options{URL: party.URL}), message)
	header := party.all()[0].Header
	require.Equal(t, "application/octet-stream", header.Get("Content-Type"))
	require.NotContains(t, header, "Authorization")
	require.NotContains(t, header, "Accept-Encoding", "a compressed answer was asked for")
}

// TestEmptyPayloadHasALength: some servers refuse a body in chunks.
func TestEmptyPayloadHasALength(t *testing.T) {
	t.Parallel()
	party := newParty(t, nil)
	target := newTarget(t, Options{URL: party.URL})
	for _, payload := range [][]byte{nil, {}} {
		message := emittertest.NewMessage(1)
		message.Payload = payload
		requireVerdict(t, emitter.Emitted, emitMessage(t, target, message))
	}
	for _, arrived := range party.all() {
		require.Empty(t, arrived.TransferEncoding)
		require.Equal(t, "0", arrived.Header.Get("Content-Length"))
	}
}

// TestControlCharactersAreRefused: a line break would forge a header, and what
// no header can carry will never do.
func TestControlCharactersAreRefused(t *testing.T) {
	t.Parallel()
	party := newParty(t, nil)
	target := newTarget(t, Options{URL: party.URL})
	for name, spoil := range map[string]func(*emitter.Message){
		"content type":    func(message *emitter.Message) { message.ContentType = "a\r\nX-Forged: 1" },
		"flow":            func(message *emitter.Message) { message.Flow = "a\nb" },
		"idempotency key": func(message *emitter.Message) { message.IdempotencyKey = "a\x00b" },
		"lane":            func(message *emitter.Message) { message.Lane = "a\x7fb" },
		"stream":          func(message *emitter.Message) { message.Stream = "a\rb" },
	} {
		message := emittertest.NewMessage(1)
		spoil(&message)
		outcome := emitMessage(t, target, message)
		requireVerdict(t, emitter.Rejected, outcome)
		require.Contains(t, outcome.Detail, name)
	}
	require.Empty(t, party.all())
}

// TestNoSecondProtocol: HTTP/2 is not spoken even where it is offered.
func TestNoSecondProtocol(t *testing.T) {
	t.Parallel()
	party := newTLSParty(t, nil, func(server *httptest.Server) { server.EnableHTTP2 = true })
	target := newTarget(t, Options{URL: party.URL, TLS: trusting(t, party)})
	requireVerdict(t, emitter.Emitted, emit(t, target, 1))
	require.Equal(t, "HTTP/1.1", party.all()[0].Proto)
}

// TestPayloadIsTheCallersAgain: the third party answers before it has read, so
// net/http is still sending when Emit returns; the race detector sees it read on.
func TestPayloadIsTheCallersAgain(t *testing.T) {
	t.Parallel()
	party := newWire(t, func(_ *wire, socket net.Conn) {
		reader := bufio.NewReader(socket)
		if _, err := http.ReadRequest(reader); err == nil {
			_, _ = io.WriteString(socket, "HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\nno")
			_, _ = io.Copy(io.Discard, reader)
		}
	})
	target := newTarget(t, Options{URL: party.URL})
	message := emittertest.NewMessage(1)
	message.Payload = bytes.Repeat([]byte("x"), 8<<20)
	requireVerdict(t, emitter.Rejected, emitMessage(t, target, message))
	clear(message.Payload)
}
