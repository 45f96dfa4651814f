package httpemitter

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

// TestStatuses is the table of what each answer means; every one is one arrival.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for want, statuses := range map[emitter.Verdict][]int{
		emitter.Emitted: {200, 201, 202, 203, 204, 205, 206, 226, 299},
		emitter.Limited: {429},
		emitter.Rejected: {
			101, 300, 399, 400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415,
			417, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499,
		},
		// 000 and 099 are no statuses; nobody defined those past 599.
		emitter.Uncertain: {0, 99, 408, 425, 500, 501, 502, 503, 504, 505, 507, 511, 599, 600, 999},
	} {
		for _, status := range statuses {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				t.Parallel()
				party := newWire(t, answering(
					fmt.Sprintf("HTTP/1.1 %03d Word\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\n", status)))
				outcome := emit(t, newTarget(t, Options{URL: party.URL}), 1)
				requireVerdict(t, want, outcome)
				require.Equal(t, status, outcome.Status)
				require.Zero(t, outcome.RetryAfter)
				require.True(t, outcome.Spent())
				party.requireNumbers(t, 1)
			})
		}
	}
}

// TestInformationsComeFirst: what counts is the final answer.
func TestInformationsComeFirst(t *testing.T) {
	t.Parallel()
	party := newWire(t, answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"+
		"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"))
	outcome := emit(t, newTarget(t, Options{URL: party.URL}), 1)
	requireVerdict(t, emitter.Emitted, outcome)
	require.Equal(t, 202, outcome.Status)
}

// TestProtocolsAreNotSwitched: what follows a 101 is another protocol's.
func TestProtocolsAreNotSwitched(t *testing.T) {
	t.Parallel()
	party := newWire(t, answering("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nanother"))
	outcome := emit(t, newTarget(t, Options{URL: party.URL}), 1)
	requireVerdict(t, emitter.Rejected, outcome)
	require.Empty(t, outcome.Answer)
}

// TestLimits: 429 always is one; 503 with a Retry-After that can be understood.
func TestLimits(t *testing.T) {
	t.Parallel()
	const date = "Date: Tue, 01 Dec 2026 10:00:00 GMT\r\n"
	for name, example := range map[string]struct {
		status     int
		headers    string
		want       emitter.Verdict
		retryAfter time.Duration
	}{
		"429":             {429, "", emitter.Limited, 0},
		"429Seconds":      {429, "Retry-After: 7\r\n", emitter.Limited, 7 * time.Second},
		"429Zero":         {429, "Retry-After: 0\r\n", emitter.Limited, 0},
		"429Garbage":      {429, "Retry-After: soon\r\n", emitter.Limited, 0},
		"429Clamped":      {429, "Retry-After: 99999999999999999999\r\n", emitter.Limited, time.Hour},
		"429Date":         {429, date + "Retry-After: Tue, 01 Dec 2026 10:00:30 GMT\r\n", emitter.Limited, 30 * time.Second},
		"503":             {503, "", emitter.Uncertain, 0},
		"503Seconds":      {503, "Retry-After: 7\r\n", emitter.Limited, 7 * time.Second},
		"503Zero":         {503, "Retry-After: 0\r\n", emitter.Limited, 0},
		"503Garbage":      {503, "Retry-After: -5\r\n", emitter.Uncertain, 0},
		"503Empty":        {503, "Retry-After: \r\n", emitter.Uncertain, 0},
		"502WithSeconds":  {502, "Retry-After: 7\r\n", emitter.Uncertain, 0},
		"200WithSeconds":  {200, "Retry-After: 7\r\n", emitter.Emitted, 0},
		"307WithSeconds":  {307, "Retry-After: 7\r\n", emitter.Rejected, 0},
		"413WithSeconds":  {413, "Retry-After: 7\r\n", emitter.Rejected, 0},
		"503OneOfTwoFine": {503, "Retry-After: x\r\nRetry-After: 7\r\n", emitter.Limited, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newWire(t, answering(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 4\r\n%s\r\nwhy?",
				example.status, example.headers)))
			outcome := emit(t, newTarget(t, Options{URL: party.URL}), 1)
			requireVerdict(t, example.want, outcome)
			require.Equal(t, example.retryAfter, outcome.RetryAfter)
			require.Equal(t, "why?", outcome.Answer)
		})
	}
}

// TestTheStatusDecides: once accepted, a body that breaks off or never ends
// changes nothing.
func TestTheStatusDecides(t *testing.T) {
	t.Parallel()
	for name, example := range map[string]struct {
		serve   func(*wire, net.Conn)
		timeout time.Duration
	}{
		"Trickles": {func(party *wire, socket net.Conn) {
			party.read(bufio.NewReader(socket))
			_, _ = io.WriteString(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbody")
			_, _ = io.Copy(io.Discard, socket)
		}, soon},
		"Truncated":   {answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbody"), liveness},
		"BadChunk":    {answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nxx"), liveness},
		"UntilClosed": {answering("HTTP/1.1 200 OK\r\n\r\nbody"), liveness},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newWire(t, example.serve)
			outcome := emit(t, newTarget(t, Options{URL: party.URL, Timeout: example.timeout}), 1)
			requireVerdict(t, emitter.Emitted, outcome)
			require.Equal(t, "body", outcome.Answer)
		})
	}
}

// TestLargeAnswers are read to the bound, kept to a smaller one, and never
// expanded.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	endless := newWire(t, flooding("HTTP/1.1 200 OK\r\n\r\n", "flood "))
	outcome := emit(t, newTarget(t, Options{URL: endless.URL, Timeout: liveness}), 1)
	requireVerdict(t, emitter.Emitted, outcome)
	require.Equal(t, emitter.AnswerBytesMax, len(outcome.Answer))

	bomb := newParty(t, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(writer)
		_, _ = io.WriteString(packed, strings.Repeat("expanded", 1<<20))
		_ = packed.Close()
	})
	outcome = emit(t, newTarget(t, Options{URL: bomb.URL}), 1)
	requireVerdict(t, emitter.Emitted, outcome)
	require.NotContains(t, outcome.Answer, "expanded")
}

func TestReferences(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	for name, example := range map[string]struct{ body, location, want string }{
		"Reference":         {`{"reference":"R-1","id":"2"}`, "/3", "R-1"},
		"ID":                {`{"id":"2"}`, "/3", "2"},
		"Number":            {`{"id":12345678901234567890}`, "", "12345678901234567890"},
		"Location":          {`{}`, "/works/3", "/works/3"},
		"NullIsNone":        {`{"reference":null,"id":2}`, "", "2"},
		"EmptyIsNone":       {`{"reference":"","id":2}`, "", "2"},
		"ObjectIsNone":      {`{"reference":{"a":1},"id":[1]}`, "/3", "/3"},
		"TrueIsNone":        {`{"reference":true}`, "/3", "/3"},
		"NotJSON":           {`accepted`, "", ""},
		"NotAnObject":       {`["R-1"]`, "", ""},
		"CutJSON":           {`{"reference":"R-1"`, "", ""},
		"TooLargeToRead":    {`{"reference":"R-1","x":"` + strings.Repeat("x", responseBytesMin) + `"}`, "/3", "/3"},
		"TooDeep":           {`{"reference":"R-1","x":` + strings.Repeat("[", 12000), "", ""},
		"ControlsAreLeft":   {`{"reference":" R\u0000-\n1 "}`, "", "R-1"},
		"LongIsCut":         {`{"reference":"` + long + `"}`, "", long[:emitter.ReferenceBytesMax]},
		"InvalidUTF8":       {"{\"reference\":\"R\xff1\"}", "", "R\uFFFD1"},
		"LocationNotInText": {"", "/\xff", "/\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			party := newWire(t, answering(fmt.Sprintf(
				"HTTP/1.1 201 Created\r\nLocation: %s\r\nContent-Length: %d\r\n\r\n%s",
				example.location, len(example.body), example.body)))
			outcome := emit(t, newTarget(t, Options{URL: party.URL, ResponseBytesMax: responseBytesMin}), 1)
			requireVerdict(t, emitter.Emitted, outcome)
			require.Equal(t, example.want, outcome.Reference)
		})
	}
}

// TestAnswersAreKeptAsText: what the register would refuse is replaced.
func TestAnswersAreKeptAsText(t *testing.T) {
	t.Parallel()
	party := newWire(t, answering("HTTP/1.1 422 X\r\nContent-Length: 7\r\n\r\na\x00b\xffc\nd"))
	outcome := emit(t, newTarget(t, Options{URL: party.URL}), 1)
	requireVerdict(t, emitter.Rejected, outcome)
	require.Equal(t, "a\uFFFDb\uFFFDc\nd", outcome.Answer)
	require.Equal(t, "answered 422 Unprocessable Entity", outcome.Detail)
	require.Empty(t, outcome.Reference)
}

// TestAnAnswerToNothing: a server that speaks first has seen nothing.
func TestAnAnswerToNothing(t *testing.T) {
	t.Parallel()
	attempt, _ := newBoundPipe(t, noLimit)
	target := newTarget(t, Options{URL: "http://third.party"})
	outcome := target.answered(t.Context(), attempt, &http.Response{
		StatusCode: 422, Body: io.NopCloser(strings.NewReader("no")),
	})
	requireVerdict(t, emitter.Unsent, outcome)
	require.Contains(t, outcome.Detail, "422")
}
