package httpemitter

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Bounds of options.
const (
	responseBytesMin      = 16 << 10 // an echoed secret never straddles what is kept
	authorizationBytesMax = 8 << 10
)

// responseHeaderBytesMax bounds an answer's headers, informational ones included.
const responseHeaderBytesMax = 64 << 10

// Options of an emitter; zero fields take the default.
type Options struct {
	// URL that every work is posted to, "https://third.party/works" for one.
	// Required; without user information or fragment.
	URL string
	// Authorization is the header's whole value, "Bearer …" for one. None when
	// empty. With an http URL it travels in clear.
	Authorization Secret
	// TLS of an https URL.
	TLS TLSOptions
	// ConnectionsMax at once; as many are kept for reuse. Attempts beyond wait for
	// a free one. Default 64.
	ConnectionsMax int
	// ConnectTimeout bounds name resolution, connecting, proxy and TLS handshake
	// together; past it the attempt is unsent. Default 5 s.
	ConnectTimeout time.Duration
	// Timeout bounds the whole attempt, waiting for a connection included.
	// Default 10 s.
	Timeout time.Duration
	// IdleTimeout is how long an unused connection is kept. Less than the third
	// party's own keep-alive, else attempts are lost to closing connections.
	// Default 4 s.
	IdleTimeout time.Duration
	// ResponseBytesMax is how much of an answer's body is read; the connection of
	// a longer one is not reused. At least 16 KiB; default 64 KiB.
	ResponseBytesMax int64
	// RetryAfterMax is the longest wait believed; longer ones are cut to it, so
	// that an answer cannot stop the quota for a year. Default 1 h.
	RetryAfterMax time.Duration
}

// TLSOptions of an https URL; the zero value trusts the system's authorities.
// Files are read once, in New.
type TLSOptions struct {
	// CAFile holds the PEM certificates of the only authorities trusted.
	CAFile string
	// CertificateFile and KeyFile identify this client, in PEM; both or neither.
	CertificateFile string
	KeyFile         string
	// ServerName to verify instead of the URL's host.
	ServerName string
	// VersionMin is "1.2", the default, or "1.3".
	VersionMin string
}

// WithDefaults fills the zero fields.
func (options Options) WithDefaults() Options {
	options.TLS.VersionMin = cmp.Or(options.TLS.VersionMin, "1.2")
	options.ConnectionsMax = cmp.Or(options.ConnectionsMax, 64)
	options.ConnectTimeout = cmp.Or(options.ConnectTimeout, 5*time.Second)
	options.Timeout = cmp.Or(options.Timeout, 10*time.Second)
	options.IdleTimeout = cmp.Or(options.IdleTimeout, 4*time.Second)
	options.ResponseBytesMax = cmp.Or(options.ResponseBytesMax, 64<<10)
	options.RetryAfterMax = cmp.Or(options.RetryAfterMax, time.Hour)
	return options
}

// String names the target without query, which may hold a token, and without
// secrets.
func (options Options) String() string {
	target, err := parseURL(options.URL)
	if err != nil {
		return "httpemitter.Options{URL: invalid}"
	}
	return fmt.Sprintf("httpemitter.Options{URL: %s, Authorization: %q}", nameOf(target), options.Authorization)
}

// Format writes String for every verb.
func (options Options) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, options.String()) }

func (options Options) validate() error {
	problems := []error{
		positive("ConnectionsMax", options.ConnectionsMax > 0, options.ConnectionsMax),
		positive("ConnectTimeout", options.ConnectTimeout > 0, options.ConnectTimeout),
		positive("Timeout", options.Timeout > 0, options.Timeout),
		positive("IdleTimeout", options.IdleTimeout > 0, options.IdleTimeout),
		positive("RetryAfterMax", options.RetryAfterMax > 0, options.RetryAfterMax),
	}
	if options.ResponseBytesMax < responseBytesMin {
		problems = append(problems, fmt.Errorf("ResponseBytesMax %d: accepted are at least %d",
			options.ResponseBytesMax, responseBytesMin))
	}
	if secret := string(options.Authorization); len(secret) > authorizationBytesMax || !fitsHeader(secret) {
		problems = append(problems, fmt.Errorf(
			"value of Authorization (withheld): accepted are at most %d bytes without control characters",
			authorizationBytesMax))
	}
	target, err := parseURL(options.URL)
	if err == nil && target.Scheme == "http" && options.TLS != (TLSOptions{VersionMin: options.TLS.VersionMin}) {
		err = errors.New("TLS is set but URL is plain http: accepted with an https URL only")
	}
	return errors.Join(append(problems, err)...)
}

func positive(field string, fine bool, value any) error {
	if fine {
		return nil
	}
	return fmt.Errorf("%s %v: accepted are values above zero", field, value)
}

// parseURL withholds what it refuses: a URL may hold credentials.
func parseURL(raw string) (*url.URL, error) {
	const accepted = "accepted is http or https, a host, no user information, no fragment"
	target, err := url.Parse(raw)
	switch {
	case raw == "":
		return nil, errors.New("URL is empty: " + accepted)
	case err != nil:
		return nil, errors.New("URL (withheld) cannot be parsed: " + accepted)
	case target.User != nil:
		return nil, fmt.Errorf("URL for %q holds user information: use Authorization; %s", target.Host, accepted)
	case target.Scheme != "http" && target.Scheme != "https", target.Hostname() == "", target.Fragment != "":
		return nil, fmt.Errorf("URL %q: %s", nameOf(target), accepted)
	}
	return target, nil
}

// nameOf a URL is what may be shown of it.
func nameOf(target *url.URL) string {
	shown := url.URL{Scheme: target.Scheme, Opaque: target.Opaque, Host: target.Host, Path: target.Path}
	return shown.String()
}
