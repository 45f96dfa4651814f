package submission_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/submission"
	"github.com/adjourn/adjourn/work"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const bytesMax = 100

func read(t *testing.T, text string) []submission.Line {
	t.Helper()
	return readAll(t, submission.NewReader(strings.NewReader(text),
		submission.Options{PayloadBytesMax: bytesMax, Now: now}))
}

func readAll(t *testing.T, reader *submission.Reader) []submission.Line {
	t.Helper()
	var lines []submission.Line
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		require.NoError(t, err)
		lines = append(lines, line)
	}
}

func TestReader_Accepts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want work.Submission
	}{
		"the least": {
			`{"flow":"invoice","payload":{"a": 1}}`,
			work.Submission{Flow: "invoice", Payload: []byte(`{"a": 1}`)},
		},
		"everything": {
			`{"flow":"invoice","payload":[1],"deadline":"2026-12-01T10:00:00+01:00","idempotency_key":"k",` +
				`"stream":"fr-2026","content_type":"text/x"}`,
			work.Submission{
				Flow: "invoice", Payload: []byte(`[1]`),
				Deadline:       time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC),
				IdempotencyKey: "k", Stream: "fr-2026", ContentType: "text/x",
			},
		},
		"a deadline counted from the database's clock": {
			`{"flow":"invoice","payload":1,"deadline_in":"90s"}`,
			work.Submission{Flow: "invoice", Payload: []byte("1"), Deadline: now.Add(90 * time.Second)},
		},
		"null for a missing field": {
			`{"flow":"invoice","payload":"x","deadline":null,"stream":null}`,
			work.Submission{Flow: "invoice", Payload: []byte(`"x"`)},
		},
		"a byte order mark, spaces and a carriage return": {
			"\xef\xbb\xbf  {\"flow\":\"invoice\",\"payload\":1}\t\r",
			work.Submission{Flow: "invoice", Payload: []byte("1")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := read(t, test.text)
			require.Len(t, lines, 1)
			require.NoError(t, lines[0].Err)
			require.WithinDuration(t, test.want.Deadline, lines[0].Submission.Deadline, 0)
			lines[0].Submission.Deadline = test.want.Deadline
			require.Equal(t, test.want, lines[0].Submission)
		})
	}
}

func TestReader_RefusesWithTheFieldTheValueAndWhatIsAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"not JSON":            {`flow=invoice`, `"flow=invoice": accepted is one JSON object a line`},
		"a list":              {`[1]`, "accepted is one JSON object"},
		"cut off":             {`{"flow":"invoice","payload":{"a"`, "payload: not JSON"},
		"not closed":          {`{"flow":"invoice","payload":1`, "does not end"},
		"two objects":         {`{"flow":"a","payload":1}{"flow":"b","payload":1}`, "something follows"},
		"not UTF-8":           {"{\"flow\":\"\xff\",\"payload\":1}", "not valid UTF-8"},
		"misspelt":            {`{"flow":"a","payload":1,"dedline":"x"}`, "did you mean deadline?"},
		"other case":          {`{"Flow":"a","payload":1}`, `unknown field "Flow": did you mean flow?`},
		"unknown":             {`{"flow":"a","payload":1,"colour":"x"}`, `unknown field "colour": accepted are flow, payload,`},
		"twice":               {`{"flow":"a","flow":"b","payload":1}`, "flow stands twice"},
		"no flow":             {`{"payload":1}`, "flow is missing"},
		"empty flow":          {`{"flow":"","payload":1}`, `flow "": leave the field out`},
		"flow is a number":    {`{"flow":7,"payload":1}`, `flow "7": accepted is a string`},
		"NUL":                 {`{"flow":"a\u0000","payload":1}`, `flow "a\x00": control characters`},
		"escape sequence":     {`{"flow":"a","payload":1,"stream":"\u001b[2J"}`, `stream "\x1b[2J"`},
		"no payload":          {`{"flow":"a"}`, "payload is missing"},
		"null payload":        {`{"flow":"a","payload":null}`, "payload null"},
		"two payloads":        {`{"flow":"a","payload":1,"payload_file":"x"}`, "accepted is one of the two"},
		"payload too big":     {`{"flow":"a","payload":"` + strings.Repeat("x", 99) + `"}`, "at most 100 bytes"},
		"two deadlines":       {`{"flow":"a","payload":1,"deadline":"2026-12-01T10:00:00Z","deadline_in":"1h"}`, "one of the two"},
		"no offset":           {`{"flow":"a","payload":1,"deadline":"2026-12-01T10:00:00"}`, "an instant with its offset"},
		"no unit":             {`{"flow":"a","payload":1,"deadline_in":"90"}`, `deadline_in "90": accepted are spans`},
		"backwards":           {`{"flow":"a","payload":1,"deadline_in":"-1s"}`, `deadline_in "-1s"`},
		"file without a home": {`{"flow":"a","payload_file":"x"}`, "accepted only where"},
		"line too long":       {strings.Repeat("x", 2*bytesMax+64<<10+1), "longer than 65736 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := read(t, test.text)
			require.Len(t, lines, 1)
			require.ErrorContains(t, lines[0].Err, test.want)
			require.NotContains(t, lines[0].Err.Error(), "\x1b", "an escape sequence reaches the terminal")
			require.Less(t, len(lines[0].Err.Error()), 500)
			require.Empty(t, lines[0].Submission, "a refused line is no work at all")
		})
	}
}

// A bad line stops no other, and every line keeps its number.
func TestReader_GoesOnAfterABadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 1<<20)
	lines := read(t, "nonsense\n\n"+`{"flow":"a","payload":1}`+"\r\n"+long+"\n   \n"+`{"flow":"b","payload":2}`)
	var numbers []int
	var flows []string
	for _, line := range lines {
		numbers, flows = append(numbers, line.Number), append(flows, line.Submission.Flow)
	}
	require.Equal(t, []int{1, 3, 4, 6}, numbers)
	require.Equal(t, []string{"", "a", "", "b"}, flows)
}

func TestReader_PayloadFile(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	directory := filepath.Join(parent, "input")
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "sub"), 0o700))
	write := func(path, content string) { require.NoError(t, os.WriteFile(path, []byte(content), 0o600)) }
	write(filepath.Join(directory, "invoice.XML"), "<invoice/>")
	write(filepath.Join(directory, "sub", "raw"), "")
	write(filepath.Join(directory, "big.json"), strings.Repeat("1", bytesMax+1))
	write(filepath.Join(parent, "secret"), "secret")
	require.NoError(t, os.Symlink(filepath.Join(parent, "secret"), filepath.Join(directory, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "pipe"), 0o600))
	root, err := os.OpenRoot(directory)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })

	tests := map[string]struct{ file, extra, payload, contentType, refused string }{
		"by ending":      {file: "invoice.XML", payload: "<invoice/>", contentType: "application/xml"},
		"own type":       {file: "invoice.XML", extra: `,"content_type":"text/x"`, payload: "<invoice/>", contentType: "text/x"},
		"below, empty":   {file: "sub/raw", contentType: "application/octet-stream"},
		"missing":        {file: "nothing", refused: "no such file"},
		"too big":        {file: "big.json", refused: "at most 100 bytes"},
		"up":             {file: "../secret", refused: "escapes"},
		"absolute":       {file: filepath.Join(parent, "secret"), refused: "escapes"},
		"through a link": {file: "link", refused: "escapes"},
		"a directory":    {file: "sub", refused: "accepted are regular files"},
		"a named pipe":   {file: "pipe", refused: "accepted are regular files"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := submission.NewReader(
				strings.NewReader(fmt.Sprintf(`{"flow":"a","payload_file":%q%s}`, test.file, test.extra)),
				submission.Options{PayloadBytesMax: bytesMax, Files: root})
			line := readAll(t, reader)[0]
			if test.refused != "" {
				require.ErrorContains(t, line.Err, test.refused)
				require.Empty(t, line.Submission)
				return
			}
			require.NoError(t, line.Err)
			require.Equal(t, test.payload, string(line.Submission.Payload))
			require.Equal(t, test.contentType, line.Submission.ContentType)
		})
	}
}

func TestReadPayload(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "invoice.xml")
	require.NoError(t, os.WriteFile(path, []byte("<invoice/>"), 0o600))
	payload, contentType, err := submission.ReadPayload(path, bytesMax)
	require.NoError(t, err)
	require.Equal(t, "<invoice/>", string(payload))
	require.Equal(t, "application/xml", contentType)
	_, _, err = submission.ReadPayload(path, 3)
	require.ErrorContains(t, err, "at most 3 bytes")
}

type brokenInput struct{ text io.Reader }

var errInput = errors.New("input broke")

func (input brokenInput) Read(into []byte) (int, error) {
	n, err := input.text.Read(into)
	if errors.Is(err, io.EOF) {
		err = errInput
	}
	return n, err
}

// register answers by flow: "refused" is refused, "known" is a repeat.
func register(_ context.Context, batch []work.Submission) []submission.Answer {
	answers := make([]submission.Answer, len(batch))
	for i, one := range batch {
		answers[i].Submitted = work.Submitted{ID: work.ID(i + 1), Created: one.Flow != "known"}
		if one.Flow == "refused" {
			answers[i] = submission.Answer{Err: &work.SubmissionError{Field: "flow", Message: "refused by the register"}}
		}
	}
	return answers
}

func options() submission.Options { return submission.Options{PayloadBytesMax: bytesMax, Now: now} }

func TestSubmit_ReportsEveryLine(t *testing.T) {
	t.Parallel()
	text := `{"flow":"a","payload":1}
{"flow":"refused","payload":1}
nonsense
{"flow":"known","payload":1}
{"flow":"b","payload":1}`
	var seen []submission.Report
	report, err := submission.Submit(t.Context(), submission.NewReader(strings.NewReader(text), options()),
		register, func(report submission.Report) { seen = append(seen, report) })
	require.NoError(t, err)
	require.Equal(t, 2, report.Submitted)
	require.Equal(t, 1, report.Repeated)
	require.Equal(t, 2, report.RefusedLines)
	require.Equal(t, submission.Refusal{Line: 2, Reason: "refused by the register"}, report.Refused[0])
	require.Equal(t, 3, report.Refused[1].Line)
	require.Equal(t, []submission.Report{report}, seen)
}

func TestSubmit_BatchesAndBoundsItsReport(t *testing.T) {
	t.Parallel()
	var sizes []int
	counting := func(ctx context.Context, batch []work.Submission) []submission.Answer {
		sizes = append(sizes, len(batch))
		return register(ctx, batch)
	}
	text := strings.Repeat("{\"flow\":\"a\",\"payload\":1}\nnonsense\n", 1234)
	report, err := submission.Submit(t.Context(), submission.NewReader(strings.NewReader(text), options()),
		counting, func(submission.Report) {})
	require.NoError(t, err)
	require.Equal(t, []int{500, 500, 234}, sizes)
	require.Equal(t, 1234, report.Submitted)
	require.Equal(t, 1234, report.RefusedLines)
	require.Len(t, report.Refused, 1000)
}

func TestSubmit_SaysHowFarItCame(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("{\"flow\":\"a\",\"payload\":1}\n", 501)

	report, err := submission.Submit(t.Context(),
		submission.NewReader(brokenInput{strings.NewReader(good)}, options()), register, func(submission.Report) {})
	require.ErrorIs(t, err, errInput)
	require.ErrorContains(t, err, "after 501")
	require.Equal(t, 501, report.Submitted, "what was read before is submitted")

	calls := 0
	failing := func(ctx context.Context, batch []work.Submission) []submission.Answer {
		answers := register(ctx, batch)
		if calls++; calls == 2 {
			answers[0].Err = errors.New("register broke")
		}
		return answers
	}
	report, err = submission.Submit(t.Context(),
		submission.NewReader(strings.NewReader(good), options()), failing, func(submission.Report) {})
	require.ErrorContains(t, err, "submit line 501: register broke")
	require.Equal(t, 500, report.Submitted)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = submission.Submit(ctx,
		submission.NewReader(strings.NewReader(good), options()), register, func(submission.Report) {})
	require.ErrorIs(t, err, context.Canceled)
}

// The demo's input is good from end to end.
func TestReader_Examples(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot("../../examples")
	require.NoError(t, err)
	defer root.Close()
	file, err := root.Open("works.ndjson")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	lines := readAll(t, submission.NewReader(file,
		submission.Options{PayloadBytesMax: 5 << 20, Files: root, Now: now}))
	require.Len(t, lines, 600)
	for _, line := range lines {
		require.NoError(t, line.Err, "line %d", line.Number)
	}
}
