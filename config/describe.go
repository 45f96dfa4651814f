package config

import (
	"strconv"
	"strings"
	"unicode"
)

// Origin is where an effective value comes from.
type Origin string

// The origins of a value.
const (
	Environment Origin = "environment"
	Default     Origin = "default"
)

// Setting is one variable as `adjourn config` prints it.
type Setting struct {
	// Section of [Config] that holds it.
	Section string `json:"section"`
	// Name of the variable.
	Name string `json:"name"`
	// Value in effect, secrets redacted, control characters escaped; empty when
	// there is none.
	Value string `json:"value"`
	// Default when the variable is not set or empty; empty when there is none.
	Default string `json:"default"`
	// Origin of Value.
	Origin Origin `json:"origin"`
	// Accepted says what may be written.
	Accepted string `json:"accepted"`
	// Meaning of the setting, with its unit or special values.
	Meaning string `json:"meaning"`

	// hides tells that Value is not what was written.
	hides bool
}

// Describe returns every setting as it was read, section by section. It returns
// none for a Config that [Load] did not make.
func (config Config) Describe() []Setting { return append([]Setting(nil), config.settings...) }

func (config Config) setting(name string) (setting Setting, known bool) {
	for _, setting := range config.settings {
		if setting.Name == name {
			return setting, true
		}
	}
	return Setting{}, false
}

// printable escapes text that would disturb a terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(letter rune) bool { return !unicode.IsPrint(letter) }) {
		return strconv.Quote(text)
	}
	return text
}
