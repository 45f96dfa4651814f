package emitter

import (
	"strings"
	"unicode/utf8"
)

// replacement stands for what cannot be kept.
const replacement = "\uFFFD"

// Text makes foreign text fit for an [Outcome]: valid UTF-8 without NUL, at most
// bytesMax bytes, cut between characters. What cannot be kept becomes U+FFFD. A
// text that the register refuses would leave the attempt unrecorded, and the
// work would be emitted again.
func Text(raw string, bytesMax int) string {
	clean := strings.ReplaceAll(raw, "\x00", replacement)
	clean = strings.ToValidUTF8(clean, replacement)
	end := max(0, bytesMax)
	if len(clean) <= end {
		return clean
	}
	for end > 0 && !utf8.RuneStart(clean[end]) {
		end--
	}
	return strings.Clone(clean[:end])
}
