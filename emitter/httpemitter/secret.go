package httpemitter

import (
	"fmt"
	"io"
	"strings"
)

// redacted stands wherever a secret would.
const redacted = "[redacted]"

// Secret is text that no format verb, JSON or text encoding shows.
type Secret string

// Format writes "[redacted]" for every verb; nothing for an empty secret.
func (secret Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, secret.String()) }

// String is "[redacted]", or empty for an empty secret.
func (secret Secret) String() string {
	if secret == "" {
		return ""
	}
	return redacted
}

// MarshalText is String.
func (secret Secret) MarshalText() ([]byte, error) { return []byte(secret.String()), nil }

// credentialBytesMin is the shortest credential that is looked for apart from
// its scheme: replacing shorter ones would mangle ordinary text.
const credentialBytesMin = 8

// redactor returns a function that takes the secret, and its credential without
// the scheme ("Bearer …"), out of a text: third parties echo requests.
func (secret Secret) redactor() func(string) string {
	if secret == "" {
		return func(text string) string { return text }
	}
	pairs := []string{string(secret), redacted}
	if _, credential, found := strings.Cut(string(secret), " "); found && len(credential) >= credentialBytesMin {
		pairs = append(pairs, credential, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}
