package config

import (
	"fmt"
	"io"
)

// redacted stands for whatever must not be shown.
const redacted = "[redacted]"

// Secret is text that no way of printing shows; only Reveal does. Its zero value
// is no secret at all.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Decode takes text as it is.
func (secret *Secret) Decode(text string) error {
	secret.text = text
	return nil
}

// Reveal returns the text, to hand it to whom it is meant for.
func (secret Secret) Reveal() string { return secret.text }

// String is always "[redacted]".
func (Secret) String() string { return redacted }

// GoString is always "[redacted]".
func (Secret) GoString() string { return redacted }

// Format writes "[redacted]" whatever the verb; %d would otherwise look inside.
func (Secret) Format(state fmt.State, _ rune) { writeRedacted(state, redacted) }

// MarshalText is always "[redacted]"; encoding/json uses it too.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

func (Secret) redact(string) string { return redacted }

func writeRedacted(state fmt.State, text string) {
	// What fails here is the printing itself, and fmt has nowhere to say so.
	_, _ = io.WriteString(state, text)
}
