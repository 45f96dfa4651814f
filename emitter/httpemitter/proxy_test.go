package httpemitter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

func through(t *testing.T, proxy string, options Options) *Emitter {
	t.Helper()
	address, err := url.Parse(proxy)
	require.NoError(t, err)
	target, err := newEmitter(options, http.ProxyURL(address))
	require.NoError(t, err)
	t.Cleanup(target.Close)
	return target
}

// TestProxyForHTTP: the proxy has the work, so the attempt is spent.
func TestProxyForHTTP(t *testing.T) {
	t.Parallel()
	proxy := newWire(t, answering("HTTP/1.1 504 Gateway Timeout\r\n\r\n"))
	outcome := emit(t, through(t, proxy.URL, Options{URL: "http://third.party/works"}), 1)
	requireVerdict(t, emitter.Uncertain, outcome)
	require.Equal(t, "http://third.party/works", proxy.all()[0].RequestURI)
}

// tunnel answers CONNECT and passes bytes on to address.
func tunnel(address string) func(*wire, net.Conn) {
	return func(_ *wire, socket net.Conn) {
		reader := bufio.NewReader(socket)
		if read, err := http.ReadRequest(reader); err != nil || read.Method != http.MethodConnect {
			return
		}
		far, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer func() { _ = far.Close() }()
		_, _ = io.WriteString(socket, "HTTP/1.1 200 OK\r\n\r\n")
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(socket, far)
		}()
		_, _ = io.Copy(far, reader)
		_ = far.Close()
		<-back
	}
}

// TestProxyForHTTPS: what sets a tunnel up is no attempt.
func TestProxyForHTTPS(t *testing.T) {
	t.Parallel()
	party := newTLSParty(t, nil, nil)
	options := Options{URL: party.URL, TLS: trusting(t, party), ConnectTimeout: 2 * soon}
	open := newWire(t, tunnel(party.Listener.Addr().String()))
	requireVerdict(t, emitter.Emitted, emit(t, through(t, open.URL, options), 1))

	forbidding := newWire(t, answering("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"))
	outcome := emit(t, through(t, forbidding.URL, options), 2)
	requireVerdict(t, emitter.Unsent, outcome)
	require.Contains(t, outcome.Detail, "Proxy Authentication Required")

	hanging := newWire(t, func(_ *wire, socket net.Conn) { _, _ = io.Copy(io.Discard, socket) })
	requireVerdict(t, emitter.Unsent, emit(t, through(t, hanging.URL, options), 3))
	requireVerdict(t, emitter.Unsent, emit(t, through(t, unusedURL(t, "http"), options), 4))
	party.requireNumbers(t, 1)
}

// emitByEnvironment is a child: net/http reads a process's variables only once.
func emitByEnvironment() {
	target, err := New(Options{URL: os.Getenv(urlVariable)})
	if err != nil {
		fmt.Print("refused: ", err)
		return
	}
	fmt.Print(target.Emit(context.Background(), emittertest.NewMessage(1)).Verdict)
}

// TestProxyOfTheEnvironment: users expect HTTP_PROXY and NO_PROXY to be heeded.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	proxy := newWire(t, answering("HTTP/1.1 202 Accepted\r\n\r\n"))
	for name, example := range map[string]struct {
		environment []string
		want        string
	}{
		"Used":     {[]string{"HTTP_PROXY=" + proxy.URL, "NO_PROXY="}, "emitted"},
		"Excepted": {[]string{"HTTP_PROXY=" + proxy.URL, "NO_PROXY=third-party.invalid"}, "unsent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := child("proxied", "http://third-party.invalid/", example.environment...).Output()
			require.NoError(t, err)
			require.Equal(t, example.want, string(output))
		})
	}
	t.Cleanup(func() { proxy.requireNumbers(t, 1) })
}
