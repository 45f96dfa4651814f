package postgres

import (
	"strings"
	"unicode/utf8"
)

// storable drops what a TEXT column refuses, a third party's bytes being
// anybody's: NUL and invalid UTF-8. An ending that cannot be written would be
// made again.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// isText tells whether a TEXT column takes the string as it is.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
