package httpemitter

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// longest is more than no whole number of seconds, to see which clamp works.
const longest = 10*time.Minute + 500*time.Millisecond

var answeredAt = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// TestRetryAfter: each value has one defined fate.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const absent = time.Duration(-1)
	for value, want := range map[string]time.Duration{
		"0":                    0,
		"00":                   0,
		"7":                    7 * time.Second,
		"007":                  7 * time.Second,
		" 7\t":                 7 * time.Second,
		"600":                  600 * time.Second,
		"601":                  longest,
		"9223372036":           longest, // the last that fits a duration
		"9223372037":           longest,
		"9223372036854775807":  longest,
		"9223372036854775808":  longest,
		"99999999999999999999": longest,
		// Not in the grammar.
		"":      absent,
		" ":     absent,
		"-5":    absent,
		"-0":    absent,
		"+5":    absent,
		"1.5":   absent,
		"1,5":   absent,
		"5, 10": absent,
		"5s":    absent,
		"0x10":  absent,
		"1e3":   absent,
		"٣":     absent,
		"５":     absent,
		"soon":  absent,
		"NaN":   absent,
		"\x00":  absent,
		// Dates, in the three formats.
		"Tue, 01 Dec 2026 10:00:30 GMT":   30 * time.Second,
		"Tuesday, 01-Dec-26 10:00:30 GMT": 30 * time.Second,
		"Tue Dec  1 10:00:30 2026":        30 * time.Second,
		"Tue, 01 Dec 2026 10:00:00 GMT":   0,
		"Tue, 01 Dec 2026 09:59:59 GMT":   0,
		"Sun, 06 Nov 1994 08:49:37 GMT":   0,
		"Mon, 01 Jan 0001 00:00:00 GMT":   0,
		"Tue, 01 Dec 2026 11:00:00 GMT":   longest,
		"Fri, 31 Dec 9999 23:59:59 GMT":   longest,
		// Almost dates.
		"Tue, 01 Dec 2026 10:00:30":         absent,
		"Tue, 32 Dec 2026 10:00:30 GMT":     absent,
		"Tue, 01 Dec 2026 10:00:30 +0100":   absent,
		"2026-12-01T10:00:30Z":              absent,
		"Tue, 01 Dec 2026 10:00:30 GMT, 30": absent,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			delay, usable := retryAfter(http.Header{"Retry-After": {value}}, answeredAt, longest)
			require.Equal(t, want != absent, usable)
			require.Equal(t, max(want, 0), delay)
		})
	}
}

// TestRetryAfterCountsFromTheAnswersDate: clocks differ.
func TestRetryAfterCountsFromTheAnswersDate(t *testing.T) {
	t.Parallel()
	header := func(date string) http.Header {
		return http.Header{"Retry-After": {"Tue, 01 Dec 2026 10:00:30 GMT"}, "Date": {date}}
	}
	skewed := answeredAt.Add(48 * time.Hour)
	delay, usable := retryAfter(header("Tue, 01 Dec 2026 10:00:10 GMT"), skewed, longest)
	require.True(t, usable)
	require.Equal(t, 20*time.Second, delay)
	for _, unusable := range []string{"", "yesterday"} {
		delay, _ = retryAfter(header(unusable), answeredAt.Add(5*time.Second), longest)
		require.Equal(t, 25*time.Second, delay, "date %q", unusable)
	}
}

// TestRetryAfterSeveral: the longest that can be understood stands.
func TestRetryAfterSeveral(t *testing.T) {
	t.Parallel()
	for want, values := range map[time.Duration][]string{
		9 * time.Second:  {"5", "9", "7"},
		30 * time.Second: {"5", "Tue, 01 Dec 2026 10:00:30 GMT"},
		5 * time.Second:  {"-9", "5", "soon"},
		longest:          {"5", "99999999999999999999"},
		0:                {"0", "-9"},
	} {
		delay, usable := retryAfter(http.Header{"Retry-After": values}, answeredAt, longest)
		require.True(t, usable, values)
		require.Equal(t, want, delay, values)
	}
	for _, values := range [][]string{nil, {}, {"-9", "soon"}} {
		_, usable := retryAfter(http.Header{"Retry-After": values}, answeredAt, longest)
		require.False(t, usable, values)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"7", "-5", "1.5", "9223372037", "99999999999999999999"} {
		f.Add(value, "", int64(time.Hour))
	}
	f.Add("Tue, 01 Dec 2026 10:00:30 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", int64(1))
	f.Add("Sun Nov  6 08:49:37 1994", "Fri, 31 Dec 9999 23:59:59 GMT", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, value, date string, most int64) {
		most = max(1, most)
		header := http.Header{"Retry-After": {value}, "Date": {date}}
		delay, usable := retryAfter(header, answeredAt, time.Duration(most))
		require.GreaterOrEqual(t, delay, time.Duration(0))
		require.LessOrEqual(t, delay, time.Duration(most))
		if !usable {
			require.Zero(t, delay)
		}
		header.Add("Retry-After", value)
		again, usableAgain := retryAfter(header, answeredAt, time.Duration(most))
		require.Equal(t, delay, again, "twice the same is the same")
		require.Equal(t, usable, usableAgain)
	})
}
