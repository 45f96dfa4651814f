package httpemitter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/adjourn/adjourn/emitter"
)

// Emitter posts works to one URL. Safe for concurrent use.
type Emitter struct {
	options   Options
	url       *url.URL
	transport *http.Transport
	redact    func(string) string
}

var _ emitter.Emitter = (*Emitter)(nil)

// New checks the options, all problems at once, and connects to nothing yet. The
// caller must call Close.
func New(options Options) (*Emitter, error) {
	return newEmitter(options, http.ProxyFromEnvironment)
}

func newEmitter(options Options, proxyFor func(*http.Request) (*url.URL, error)) (*Emitter, error) {
	options = options.WithDefaults()
	problem := options.validate()
	config, err := options.TLS.config()
	if err := errors.Join(problem, err); err != nil {
		return nil, fmt.Errorf("check HTTP emitter: %w", err)
	}
	target, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	proxy, err := proxyFor(&http.Request{URL: target})
	if err != nil {
		// The cause may quote the variable, which may hold a password.
		return nil, errors.New("check HTTP emitter: HTTP_PROXY or HTTPS_PROXY (withheld) cannot be used: " +
			"accepted is a URL with http, https or socks5")
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Emitter{
		options: options, url: target, redact: options.Authorization.redactor(),
		transport: &http.Transport{
			Proxy:                  http.ProxyURL(proxy),
			DialContext:            dialer(options.ConnectTimeout),
			TLSClientConfig:        config,
			DisableCompression:     true,
			MaxIdleConns:           options.ConnectionsMax,
			MaxIdleConnsPerHost:    options.ConnectionsMax,
			MaxConnsPerHost:        options.ConnectionsMax,
			IdleConnTimeout:        options.IdleTimeout,
			MaxResponseHeaderBytes: responseHeaderBytesMax,
			Protocols:              protocols,
		},
	}, nil
}

// Emit posts the message once; see the package comment for what becomes of it.
func (target *Emitter) Emit(ctx context.Context, message emitter.Message) emitter.Outcome {
	if part := misfit(message); part != "" {
		return emitter.Outcome{
			Verdict: emitter.Rejected, Detail: "not sent: the " + part + " holds a control character",
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, target.options.Timeout, errTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	attempt := newAttempt(message, end)
	now := time.Now()
	if message.TooLate(now) {
		return target.unsent(errTooLate)
	}
	defer attempt.watch(now)()
	body := &payload{rest: message.Payload}
	defer func() { _ = body.Close() }() // never fails
	//nolint:bodyclose // answered closes it
	response, err := target.transport.RoundTrip(target.request(attempt.trace(ctx), message, body))
	if err != nil {
		return target.unanswered(attempt, err)
	}
	return target.answered(ctx, attempt, response)
}

// Close drops the connections that are kept for reuse. Call it after the last
// Emit has returned.
func (target *Emitter) Close() { target.transport.CloseIdleConnections() }

// Format names the target for every verb, without secrets.
func (target *Emitter) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "httpemitter to %s", nameOf(target.url))
}

func (target *Emitter) authorize(header http.Header) {
	if secret := string(target.options.Authorization); secret != "" {
		header.Set("Authorization", secret)
	}
}
