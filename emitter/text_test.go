package emitter_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, example := range map[string]struct {
		raw      string
		bytesMax int
		want     string
	}{
		"Fits":                    {"facture n° 7", 100, "facture n° 7"},
		"Exactly":                 {"seven b", 7, "seven b"},
		"CutBetweenCharacters":    {"éé", 3, "é"},
		"CutBeforeACharacter":     {"€", 2, ""},
		"NoRoom":                  {"a", 0, ""},
		"NegativeIsNoRoom":        {"a", -1, ""},
		"InvalidBytes":            {"a\xff\xfeb", 100, "a\uFFFDb"},
		"NUL":                     {"a\x00b", 100, "a\uFFFDb"},
		"ReplacedBeforeTheBound":  {"\x00\x00", 4, "\uFFFD"},
		"HalfACharacterAtTheEnd":  {"a\xc3", 100, "a\uFFFD"},
		"SurrogatesAreNotUTF8":    {"\xed\xa0\x80", 100, "\uFFFD"},
		"OtherControlsAreLeft":    {"a\r\n\tb", 100, "a\r\n\tb"},
		"FourBytesCutInTheMiddle": {"ab😀", 5, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, example.want, emitter.Text(example.raw, example.bytesMax))
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\xff\x00é", 3)
	f.Fuzz(func(t *testing.T, raw string, bytesMax int) {
		got := emitter.Text(raw, bytesMax)
		require.LessOrEqual(t, len(got), max(0, bytesMax))
		require.True(t, utf8.ValidString(got))
		require.False(t, strings.Contains(got, "\x00"))
		require.Equal(t, got, emitter.Text(got, bytesMax), "a second time changes nothing")
	})
}

// TestSpent: only what surely never left keeps its slot (G1).
func TestSpent(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[emitter.Verdict]bool{
		emitter.Emitted: true, emitter.Limited: true, emitter.Rejected: true,
		emitter.Uncertain: true, emitter.Unsent: false, "": true, "else": true,
	} {
		require.Equal(t, want, emitter.Outcome{Verdict: verdict}.Spent(), "verdict %q", verdict)
	}
}
