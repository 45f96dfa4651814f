package emittertest

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

// Arrival is what the third party has seen of one attempt.
type Arrival struct {
	Stream  string
	Number  int64
	Payload []byte
}

// Subject is one emitter with a third party of its own that accepts everything
// and has seen nothing yet.
type Subject struct {
	Emitter emitter.Emitter
	// Arrivals lists what the third party has seen so far, in any order. Where a
	// repeat cannot be told from the first (a file that exists), it is one
	// arrival. Safe for concurrent use.
	Arrivals func() []Arrival
}

// RequireWellFormed checks what holds for every outcome of every emitter. For
// use on any outcome, beyond the suite as well.
func RequireWellFormed(t *testing.T, outcome emitter.Outcome) {
	t.Helper()
	require.Contains(t, []emitter.Verdict{
		emitter.Emitted, emitter.Limited, emitter.Unsent, emitter.Uncertain, emitter.Rejected,
	}, outcome.Verdict)
	requireText(t, "reference", outcome.Reference, emitter.ReferenceBytesMax)
	requireText(t, "answer", outcome.Answer, emitter.AnswerBytesMax)
	requireText(t, "detail", outcome.Detail, emitter.DetailBytesMax)
	require.GreaterOrEqual(t, outcome.Status, 0, "status")
	require.GreaterOrEqual(t, outcome.RetryAfter, time.Duration(0), "retry after")
	if outcome.Verdict != emitter.Limited {
		require.Zero(t, outcome.RetryAfter, "a wait without a limit")
	}
	if outcome.Verdict == emitter.Emitted {
		require.Empty(t, outcome.Detail, "a fault of what was emitted")
	} else {
		require.NotEmpty(t, outcome.Detail, "why it is %s", outcome.Verdict)
	}
	if outcome.Verdict == emitter.Unsent {
		require.Zero(t, outcome.Status, "an answer to what was not sent")
	}
}

func requireText(t *testing.T, field, text string, bytesMax int) {
	t.Helper()
	require.LessOrEqual(t, len(text), bytesMax, "bytes of %s", field)
	require.True(t, utf8.ValidString(text), "UTF-8 of %s: %q", field, text)
	require.False(t, strings.Contains(text, "\x00"), "NUL in %s: %q", field, text)
}
