package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/internal/submission"
	"github.com/adjourn/adjourn/work"
)

// newDatabase points the commands at a database of the test's own.
func newDatabase(t *testing.T, settings ...string) (url string) {
	t.Helper()
	url = dbtest.URL(t)
	environment(t, append(settings, "DATABASE_URL="+url)...)
	return url
}

// query runs one statement beside the commands.
func query[T any](t *testing.T, url, sql string, arguments ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql, arguments...).Scan(&value))
	return value
}

func execute(t *testing.T, url, sql string, arguments ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), sql, arguments...)
	require.NoError(t, err)
}

func TestSubmit_OneWorkByFlags(t *testing.T) {
	url := newDatabase(t)
	submit := func(arguments ...string) outcome {
		return adjourn(t, append([]string{
			"work", "submit", "--flow", "invoice", "--payload", `{"a":1}`,
			"--deadline", "2026-12-01T10:00:00+02:00", "--idempotency-key", "invoice:1",
			"--stream", "fr-2026",
		}, arguments...)...)
	}
	first := decode[submittedView](t, submit("--output", "json"))
	require.True(t, first.Created)
	again := submit()
	require.Equal(t, statusOK, again.status)
	require.Equal(t, fmt.Sprintf("work %d was known by its idempotency key; nothing was added\n", first.ID), again.stdout)

	shown := decode[showView](t, adjourn(t, "work", "show", first.ID.String(), "--output", "json"))
	require.Equal(t, "invoice", shown.Flow)
	require.Equal(t, "fr-2026", shown.Stream)
	require.Equal(t, work.Pending, shown.State)
	require.Equal(t, "2026-12-01T08:00:00Z", shown.Deadline.Format(time.RFC3339))
	require.Equal(t, `{"a":1}`, string(query[[]byte](t, url, "SELECT body FROM adjourn.work_payload")))

	// Another payload under the same key is a mistake someone has to know of.
	got := adjourn(t, "work", "submit", "--flow", "invoice", "--payload", "other", "--idempotency-key", "invoice:1")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "already used by work")
	require.Equal(t, int64(1), query[int64](t, url, "SELECT count(*) FROM adjourn.work"))
}

func TestSubmit_PayloadFileByItsName(t *testing.T) {
	url := newDatabase(t, "ADJOURN_PAYLOAD_BYTES_MAX=10")
	path := filepath.Join(t.TempDir(), "invoice.xml")
	require.NoError(t, os.WriteFile(path, []byte("<invoice/>"), 0o600))
	got := adjourn(t, "work", "submit", "--flow", "invoice", "--payload-file", path, "--deadline-in", "90s")
	require.Equal(t, statusOK, got.status, got.stderr)
	require.Equal(t, "application/xml", query[string](t, url, "SELECT content_type FROM adjourn.work_payload"))
	// Counted from the database's clock.
	require.InDelta(t, 90, query[float64](t, url,
		"SELECT extract(epoch FROM deadline - created_at)::float8 FROM adjourn.work"), 5)

	require.NoError(t, os.WriteFile(path, []byte("<invoices/>"), 0o600))
	got = adjourn(t, "work", "submit", "--flow", "invoice", "--payload-file", path)
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "at most 10 bytes (ADJOURN_PAYLOAD_BYTES_MAX)")
}

func TestSubmit_WrongUsage(t *testing.T) {
	newDatabase(t)
	for want, arguments := range map[string][]string{
		"--file or --flow is needed":                 {},
		"--file and --flow stand together":           {"--file", "x", "--flow", "a"},
		"one of --payload and --payload-file":        {"--flow", "a"},
		"one of --payload and --payload-file is":     {"--flow", "a", "--payload", "x", "--payload-file", "y"},
		"deadline and deadline_in stand together":    {"--flow", "a", "--payload", "x", "--deadline", "2026-12-01T10:00:00Z", "--deadline-in", "1s"},
		`deadline "tomorrow": accepted is an instan`: {"--flow", "a", "--payload", "x", "--deadline", "tomorrow"},
	} {
		got := adjourn(t, append([]string{"work", "submit"}, arguments...)...)
		require.Equal(t, statusUsage, got.status, "%v", arguments)
		require.Contains(t, got.stderr, want)
	}
}

// A bad line is reported with its number and reason, the others are submitted,
// and the exit status says so.
func TestSubmit_FileWithBadLines(t *testing.T) {
	url := newDatabase(t)
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "invoice.xml"), []byte("<invoice/>"), 0o600))
	path := filepath.Join(directory, "works.ndjson")
	lines := []string{
		`{"flow":"invoice","payload":{"invoice":"F-1"},"idempotency_key":"k1"}`,
		`{"flow":"Invoice!","payload":1}`,
		`{"flow":"invoice","payload":1,"dedline":"x"}`,
		`{"flow":"invoice","payload_file":"invoice.xml","deadline_in":"1h"}`,
		`{"flow":"invoice","payload_file":"../../etc/passwd"}`,
		`{"flow":"invoice","payload":{"invoice":"F-1"},"idempotency_key":"k1"}`,
		"\x1b[2J\x00",
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))

	got := adjourn(t, "work", "submit", "--file", path, "--output", "json")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "4 lines were refused")
	report := decode[submission.Report](t, got)
	require.Equal(t, 2, report.Submitted)
	require.Equal(t, 1, report.Repeated)
	var refused []int
	for _, refusal := range report.Refused {
		refused = append(refused, refusal.Line)
	}
	require.Equal(t, []int{2, 3, 5, 7}, refused)
	require.Contains(t, report.Refused[0].Reason, "accepted are 1 to 64")
	require.Contains(t, report.Refused[1].Reason, "did you mean deadline?")
	require.Contains(t, report.Refused[2].Reason, "escapes")
	require.Equal(t, int64(2), query[int64](t, url, "SELECT count(*) FROM adjourn.work"))

	text := adjourn(t, "work", "submit", "--file", path)
	require.Contains(t, text.stderr, "line 3: unknown field")
	require.NotContains(t, text.stderr, "\x1b")
	require.NotContains(t, text.stderr, "\x00")
	require.Equal(t, "1 submitted, 2 repeated, 4 refused\n", text.stdout,
		"lines without a key are new each time")
}

func TestSubmit_StandardInput(t *testing.T) {
	url := newDatabase(t)
	text := strings.Repeat(`{"flow":"invoice","payload":1}`+"\n", 1201)
	got := adjournWith(t, text, "work", "submit", "--file", "-")
	require.Equal(t, statusOK, got.status, got.stderr)
	require.Equal(t, "1201 submitted, 0 repeated, 0 refused\n", got.stdout)
	require.Empty(t, got.stderr, "no progress where there is no terminal")
	require.Equal(t, int64(1201), query[int64](t, url, "SELECT count(*) FROM adjourn.work"))

	// A line as long as a disk is refused in bounded memory, the next is taken.
	long := `{"flow":"invoice","payload":"` + strings.Repeat("x", 12<<20) + "\"}\n"
	got = adjournWith(t, long+`{"flow":"invoice","payload":2}`, "work", "submit", "--file", "-")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "line 1: the line is longer than")
	require.Contains(t, got.stdout, "1 submitted")
}

func TestSubmit_Example(t *testing.T) {
	newDatabase(t)
	got := adjourn(t, "work", "submit", "--file", "../../examples/works.ndjson")
	require.Equal(t, statusOK, got.status, got.stderr)
	require.Equal(t, "600 submitted, 0 repeated, 0 refused\n", got.stdout)
	require.Equal(t, "0 submitted, 600 repeated, 0 refused\n",
		adjourn(t, "work", "submit", "--file", "../../examples/works.ndjson").stdout)
}

func TestList_FiltersAndPages(t *testing.T) {
	newDatabase(t)
	for i := range 5 {
		flow := []string{"invoice", "status"}[i%2]
		require.Equal(t, statusOK, adjourn(t, "work", "submit", "--flow", flow, "--payload", "x").status)
	}
	list := func(arguments ...string) []workView {
		return decode[[]workView](t, adjourn(t, append([]string{"work", "list", "--output", "json"}, arguments...)...))
	}
	all := list()
	require.Len(t, all, 5)
	require.Greater(t, all[0].ID, all[4].ID, "newest first")
	require.Len(t, list("--flow", "invoice"), 3)
	require.Len(t, list("--state", "pending,failed", "--limit", "2"), 2)
	require.Empty(t, list("--state", "emitted"))
	require.Equal(t, all[2:], list("--before", all[1].ID.String()))

	require.Equal(t, statusOK, adjourn(t, "work", "cancel", all[0].ID.String()).status)
	require.Equal(t, work.Cancelled, list("--state", "cancelled")[0].State)

	text := adjourn(t, "work", "list").stdout
	require.Regexp(t, `^ID +FLOW +STATE`, text)
	require.Equal(t, 6, strings.Count(text, "\n"))

	for want, arguments := range map[string][]string{
		`--state "lost": accepted are pending,`:      {"--state", "lost"},
		`--lane "fast": accepted are governed,`:      {"--lane", "fast"},
		"--limit 0: accepted are 1 to 1000":          {"--limit", "0"},
		"--limit 1001: accepted are 1 to 1000":       {"--limit", "1001"},
		"--before -1: accepted is the id of a work":  {"--before", "-1"},
		`invalid argument "many" for "--limit" flag`: {"--limit", "many"},
	} {
		got := adjourn(t, append([]string{"work", "list"}, arguments...)...)
		require.Equal(t, statusUsage, got.status)
		require.Contains(t, got.stderr, want)
	}
}

// What a third party answered is shown, and cannot drive the terminal.
func TestShow_IsSafeForTheTerminal(t *testing.T) {
	url := newDatabase(t, "QUOTA_ENFORCE=invoice:true", "QUOTA_HOURLY_CEILING=1")
	submitted := decode[submittedView](t,
		adjourn(t, "work", "submit", "--flow", "invoice", "--payload", "x", "--output", "json"))
	execute(t, url, `UPDATE adjourn.work SET state = 'failed', outcome = 'failed', reason = 'rejected',
		number = 1, attempts = 1, detail = E'\x1b[2J\x1b[31mpaid\u009b'`)
	execute(t, url, `INSERT INTO adjourn.work_attempt (work_id, attempt, flow, lane, stream, number, begun_at,
		outcome, spent, status, reference, answer, detail)
		VALUES ($1, 1, 'invoice', 'governed', 'invoice', 1, clock_timestamp(), 'failed', true, 422,
		E'ref\nforged line', E'\x07', E'\x1b]0;title\x07')`, submitted.ID)

	for _, arguments := range [][]string{
		{"work", "show", submitted.ID.String()},
		{"work", "show", submitted.ID.String(), "--output", "json"},
		{"work", "list"},
	} {
		got := adjourn(t, arguments...)
		require.Equal(t, statusOK, got.status, got.stderr)
		for _, control := range []string{"\x1b", "\x07", "\u009b", "\nforged"} {
			require.NotContains(t, got.stdout, control)
		}
	}
	text := adjourn(t, "work", "show", submitted.ID.String()).stdout
	require.Contains(t, text, `\x1b[2J`)
	require.Contains(t, text, "adjourn work retry "+submitted.ID.String())
	require.Regexp(t, `ATTEMPT +LANE.*\n1 +governed`, text)
	view := decode[showView](t, adjourn(t, "work", "show", submitted.ID.String(), "--output", "json"))
	require.Equal(t, 422, view.Made[0].Receipt.Status)
	require.Equal(t, "\x1b]0;title\x07", view.Made[0].Detail, "programs get it unchanged")
}

// K04, A45: a broken quota hides no work.
func TestShow_WithoutTheQuota(t *testing.T) {
	url := newDatabase(t, "QUOTA_ENFORCE=invoice:true", "QUOTA_HOURLY_CEILING=1")
	submitted := decode[submittedView](t,
		adjourn(t, "work", "submit", "--flow", "invoice", "--payload", "x", "--output", "json"))
	execute(t, url, "DROP TABLE adjourn.quota_window")
	got := adjourn(t, "work", "show", submitted.ID.String())
	require.Equal(t, statusOK, got.status, got.stderr)
	require.Contains(t, got.stdout, "quota_window")
	require.Regexp(t, `state +pending`, got.stdout)
}

func TestChange_EachWorkItsOwnResult(t *testing.T) {
	url := newDatabase(t)
	var ids []string
	for range 3 {
		view := decode[submittedView](t, adjourn(t, "work", "submit", "--flow", "a", "--payload", "x", "--output", "json"))
		ids = append(ids, view.ID.String())
	}
	execute(t, url, "UPDATE adjourn.work SET state = 'failed', outcome = 'failed', reason = 'rejected' WHERE id = $1::BIGINT", ids[0])

	got := adjourn(t, "work", "retry", ids[0], ids[1], "999999", "--output", "json")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "2 of 3 works were left unchanged")
	views := decode[[]changedView](t, got)
	require.Equal(t, "pending", views[0].Result)
	require.Contains(t, views[1].Error, "it is pending; accepted are works that are failed")
	require.Contains(t, views[2].Error, "no such work")

	require.Equal(t, statusOK, adjourn(t, "work", "cancel", ids[0], ids[1], ids[2]).status)
	require.Equal(t, int64(3), query[int64](t, url, "SELECT count(*) FROM adjourn.work_archive WHERE state = 'cancelled'"))
	require.Equal(t, statusFailed, adjourn(t, "work", "cancel", ids[0]).status)

	for _, argument := range []string{"0", "-1", "one", "1.5", "99999999999999999999"} {
		got := adjourn(t, "work", "cancel", "--", argument)
		require.Equal(t, statusUsage, got.status)
		require.Contains(t, got.stderr, "accepted is a positive number")
	}
	require.Equal(t, statusUsage, adjourn(t, "work", "cancel").status)
	require.Equal(t, statusUsage, adjourn(t, "work", "show", "1", "2").status)
	got = adjourn(t, "work", "show", "999999")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "work 999999: no such work")
}
