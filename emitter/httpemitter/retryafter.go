package httpemitter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads how long an answer asks to wait, between zero and longest.
//
// Usable is a whole number of seconds, however large, or an HTTP date in any of
// its three formats; a date counts from the answer's own Date, else from now, and
// one that has passed is zero. Anything else ("-5", "1.5", "soon") is not usable
// and counts as absent. Of several headers the longest usable wait stands.
func retryAfter(header http.Header, now time.Time, longest time.Duration) (delay time.Duration, usable bool) {
	answeredAt, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		answeredAt = now
	}
	for _, value := range header.Values("Retry-After") {
		wait, fine := parseDelay(strings.TrimSpace(value), answeredAt, longest)
		if fine {
			delay, usable = max(delay, wait), true
		}
	}
	return delay, usable
}

func parseDelay(value string, answeredAt time.Time, longest time.Duration) (time.Duration, bool) {
	if onlyDigits(value) {
		// Compared in seconds: as a duration, large values would overflow.
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(longest/time.Second) {
			return longest, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(date.Sub(answeredAt), 0), longest), true
}

func onlyDigits(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(char rune) bool { return char < '0' || char > '9' })
}
