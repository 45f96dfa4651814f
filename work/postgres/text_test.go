package postgres

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzStorable: whatever the third party's bytes, what is kept of them is text the
// database takes, and text it takes is kept as it is.
func FuzzStorable(f *testing.F) {
	for _, text := range []string{"", "plain", "\x00", "\xff\xfe", "a\xc3(b\x00c", "\ufffd", "\xed\xa0\x80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kept := storable(text)
		require.True(t, isText(kept), "%q", kept)
		require.True(t, utf8.ValidString(kept))
		require.Equal(t, isText(text), kept == text)
		require.LessOrEqual(t, len(kept), 3*len(text), "bounded by what was given")
	})
}
