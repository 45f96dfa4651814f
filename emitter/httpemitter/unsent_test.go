package httpemitter

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// unusedURL names a port of this machine where nothing listens.
func unusedURL(t *testing.T, scheme string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return scheme + "://" + listener.Addr().String()
}

// TestUnsent: no byte of the request has left, so the slot is kept.
func TestUnsent(t *testing.T) {
	t.Parallel()
	stranger := newTLSParty(t, nil, nil)
	old := newTLSParty(t, nil, func(server *httptest.Server) {
		server.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	})
	misnamed, modern := trusting(t, stranger), trusting(t, old)
	misnamed.ServerName, modern.VersionMin = "elsewhere.example", "1.3"
	plain := newWire(t, answering("HTTP/1.1 200 OK\r\n\r\n"))
	silent := newWire(t, func(_ *wire, socket net.Conn) { _, _ = io.Copy(io.Discard, socket) })
	hangingUp := newWire(t, func(_ *wire, socket net.Conn) { _, _ = bufio.NewReader(socket).ReadByte() })

	reasons := map[string]string{
		"ConnectionRefused": "connection refused", "UnknownAuthority": "unknown authority",
		"HandshakeHangs": "i/o timeout", "HandshakeHangsLonger": "not sent: time-out",
		"OtherName": "elsewhere.example",
	}
	for name, options := range map[string]Options{
		"ConnectionRefused":    {URL: unusedURL(t, "http")},
		"ConnectionRefusedTLS": {URL: unusedURL(t, "https")},
		"NoSuchName":           {URL: "http://third-party.invalid", ConnectTimeout: time.Second},
		"UnknownAuthority":     {URL: stranger.URL},
		"OtherName":            {URL: stranger.URL, TLS: misnamed},
		"OldTLS":               {URL: old.URL, TLS: modern},
		"NotTLS":               {URL: "https" + plain.URL[len("http"):]},
		"HandshakeHangs":       {URL: "https" + silent.URL[len("http"):], ConnectTimeout: soon},
		"HandshakeHangsLonger": {URL: "https" + silent.URL[len("http"):], Timeout: soon, ConnectTimeout: 20 * soon},
		"HandshakeCut":         {URL: "https" + hangingUp.URL[len("http"):]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := emit(t, newTarget(t, options), 1)
			requireVerdict(t, emitter.Unsent, outcome)
			require.False(t, outcome.Spent())
			require.Contains(t, outcome.Detail, reasons[name])
		})
	}
	t.Cleanup(func() {
		for _, party := range []*ledger{stranger.ledger, old.ledger, plain.ledger, silent.ledger, hangingUp.ledger} {
			require.Empty(t, party.all())
		}
	})
}

// TestConnectTimeoutIsForConnecting: an answer, or a kept connection, may take
// longer.
func TestConnectTimeoutIsForConnecting(t *testing.T) {
	t.Parallel()
	party := newParty(t, func(http.ResponseWriter, *http.Request) { <-time.After(2 * soon) })
	target := newTarget(t, Options{URL: party.URL, ConnectTimeout: soon, IdleTimeout: liveness})
	requireVerdict(t, emitter.Emitted, emit(t, target, 1))
	requireVerdict(t, emitter.Emitted, emit(t, target, 2))
	require.Equal(t, 1, party.connected())
}

// TestCancelledBeforeSending while a handshake hangs.
func TestCancelledBeforeSending(t *testing.T) {
	t.Parallel()
	greeted := make(chan struct{}, 1)
	party := newWire(t, func(_ *wire, socket net.Conn) {
		if _, err := bufio.NewReader(socket).ReadByte(); err == nil {
			greeted <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, socket)
	})
	target := newTarget(t, Options{URL: "https" + party.URL[len("http"):], ConnectTimeout: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-greeted
		cancel()
	}()
	outcome := target.Emit(ctx, emittertest.NewMessage(1))
	emittertest.RequireWellFormed(t, outcome)
	requireVerdict(t, emitter.Unsent, outcome)
}

// TestClientCertificate is shown to a third party that asks for one.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	certificate, certificateFile, keyFile := newClientCertificate(t)
	party := newTLSParty(t, nil, func(server *httptest.Server) {
		clients := x509.NewCertPool()
		clients.AddCert(certificate)
		server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	})
	known, unknown := trusting(t, party), trusting(t, party)
	known.CertificateFile, known.KeyFile = certificateFile, keyFile
	known.ServerName = "example.com" // another name of the same certificate

	requireVerdict(t, emitter.Emitted, emit(t, newTarget(t, Options{URL: party.URL, TLS: known}), 1))
	require.Equal(t, "adjourn", party.all()[0].TLS.PeerCertificates[0].Subject.CommonName)
	// In TLS 1.3 the client may have sent its request before it learns of the
	// refusal.
	unknown.VersionMin = "1.3"
	outcome := emit(t, newTarget(t, Options{URL: party.URL, TLS: unknown}), 2)
	require.Contains(t, []emitter.Verdict{emitter.Uncertain, emitter.Unsent}, outcome.Verdict)
	unknown.VersionMin = "1.2"
	modest := newTLSParty(t, nil, func(server *httptest.Server) {
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	})
	requireVerdict(t, emitter.Unsent, emit(t, newTarget(t, Options{URL: modest.URL, TLS: unknown}), 3))
	require.Empty(t, modest.all())
	party.requireNumbers(t, 1)
}
