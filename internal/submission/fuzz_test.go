package submission_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/submission"
)

// FuzzReader: whatever the text, reading ends, every line is a work or a reason
// that may be printed, and an accepted payload is JSON within its bound.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		`{"flow":"invoice","deadline":"2026-12-01T10:00:00Z","payload":{"invoice":"F-1"}}`,
		"{\"flow\":\"a\",\"payload\":1}\r\n\n\x00\n{\"flow\":\"b\",\"deadline_in\":\"90s\",\"payload\":[]}",
		`{"flow":"a","flow":"a","payload":"\u001b[2J"}`,
		`{"flow":"\ud800","payload":"` + strings.Repeat("x", 100) + `"}`,
		"\xef\xbb\xbf{\"flow\":{},\"payload\":1e999}",
		strings.Repeat(`{"payload":`, 200),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := read(t, text)
		require.LessOrEqual(t, len(lines), 1+strings.Count(text, "\n"))
		previous := 0
		for _, line := range lines {
			require.Greater(t, line.Number, previous)
			previous = line.Number
			if line.Err != nil {
				require.False(t, strings.ContainsFunc(line.Err.Error(), unicode.IsControl),
					"control characters in %q", line.Err)
				require.Less(t, len(line.Err.Error()), 1000)
				continue
			}
			require.NotEmpty(t, line.Submission.Flow)
			require.True(t, json.Valid(line.Submission.Payload))
			require.LessOrEqual(t, len(line.Submission.Payload), bytesMax)
		}
	})
}

func FuzzParseDeadline(f *testing.F) {
	f.Add("2026-12-01T10:00:00Z", "")
	f.Add("", "90s")
	f.Add("0000-01-01T00:00:00+23:59", "2562047h47m16.854775807s")
	f.Fuzz(func(t *testing.T, deadline, deadlineIn string) {
		instant, err := submission.ParseDeadline(deadline, deadlineIn, now)
		if err == nil && deadlineIn != "" {
			require.False(t, instant.Before(now), "deadline_in led backwards")
		}
	})
}
