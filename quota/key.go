package quota

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyBytesMax bounds the key of a reservation made once.
const KeyBytesMax = 300

// ValidateKey refuses a key that [Arbiter.ReserveOnce] cannot keep: accepted are
// 1 to [KeyBytesMax] bytes of UTF-8 without NUL.
func ValidateKey(key string) error {
	if key == "" || len(key) > KeyBytesMax || !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return fmt.Errorf("reservation key %.80q of %d bytes: accepted are 1 to %d bytes of UTF-8 without NUL",
			key, len(key), KeyBytesMax)
	}
	return nil
}
