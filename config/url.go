package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// URL is an address that may carry credentials: printed in any way, it shows
// neither a password nor values of its query that are not known to be harmless.
// Its zero value is no address.
type URL struct{ text string }

// NewURL wraps text without looking at it.
func NewURL(text string) URL { return URL{text} }

// Decode takes an absolute URL. Its error never repeats the text, as that of
// net/url would.
func (address *URL) Decode(text string) error {
	if _, err := parseURL(text); err != nil {
		return err
	}
	address.text = text
	return nil
}

var errNotURL = errors.New("not a URL")

// hostsPattern is one host or several, each with or without a port.
var hostsPattern = regexp.MustCompile(`^[A-Za-z0-9_.,:%\[\]-]*$`)

// parseURL parses an absolute URL, and what Postgres adds to URLs: several hosts,
// as in h1:5432,h2, which the result's Host holds together.
func parseURL(text string) (*url.URL, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	hosts := ""
	if isPostgres(scheme) {
		end := strings.IndexAny(rest+"/", "/?#")
		user := rest[:strings.LastIndex(rest[:end], "@")+1]
		hosts = rest[len(user):end]
		text = scheme + "://" + user + rest[end:]
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme == "" || parsed.Opaque != "" || !hostsPattern.MatchString(hosts) {
		return nil, errNotURL
	}
	if hosts != "" {
		parsed.Host = hosts
	}
	return parsed, nil
}

func isPostgres(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// Reveal returns the whole URL, to connect with it.
func (address URL) Reveal() string { return address.text }

// IsZero tells whether there is no address.
func (address URL) IsZero() bool { return address.text == "" }

// String is the URL with its secrets replaced.
func (address URL) String() string { return redactURL(address.text) }

// GoString is String.
func (address URL) GoString() string { return address.String() }

// Format writes String whatever the verb.
func (address URL) Format(state fmt.State, _ rune) { writeRedacted(state, address.String()) }

// MarshalText is String.
func (address URL) MarshalText() ([]byte, error) { return []byte(address.String()), nil }

func (URL) redact(text string) string { return redactURL(text) }

// shownParameters are those of a Postgres URL that help to find a mistake.
var shownParameters = []string{"host", "port", "dbname", "sslmode", "search_path", "application_name"}

// redactURL keeps scheme, host and path, and the user name of a Postgres URL
// (elsewhere a user name may be a token). What does not parse is hidden whole.
func redactURL(text string) string {
	if text == "" {
		return ""
	}
	parsed, err := parseURL(text)
	if err != nil {
		return redacted
	}
	var shown strings.Builder
	shown.WriteString(parsed.Scheme + "://")
	if password, protected := parsed.User.Password(); parsed.User != nil {
		switch {
		case !isPostgres(parsed.Scheme):
			shown.WriteString(redacted)
		case protected && password != "":
			shown.WriteString(url.User(parsed.User.Username()).String() + ":" + redacted)
		default:
			shown.WriteString(url.User(parsed.User.Username()).String())
		}
		shown.WriteString("@")
	}
	shown.WriteString(parsed.Host + parsed.EscapedPath())
	shown.WriteString(redactQuery(parsed))
	if parsed.Fragment != "" {
		shown.WriteString("#" + redacted)
	}
	return shown.String()
}

func redactQuery(parsed *url.URL) string {
	if parsed.RawQuery == "" {
		return ""
	}
	parameters, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return "?" + redacted
	}
	var shown []string
	for name, values := range parameters {
		for _, value := range values {
			if isPostgres(parsed.Scheme) && slices.Contains(shownParameters, name) {
				shown = append(shown, url.QueryEscape(name)+"="+value)
				continue
			}
			shown = append(shown, url.QueryEscape(name)+"="+redacted)
		}
	}
	slices.Sort(shown)
	return "?" + strings.Join(shown, "&")
}
