package postgres

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

const mebibyte = 1 << 20

// TestSubmitStoresTheWorkAsItIs.
func TestSubmitStoresTheWorkAsItIs(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	before := lane.now()
	deadline := before.Add(time.Hour).In(time.FixedZone("", 19800))
	payload := []byte("\x00\xff\r\n'; DROP TABLE adjourn.work; --")
	id := lane.submit(work.Submission{
		Flow: "invoice", Payload: payload, Deadline: deadline, IdempotencyKey: "order-1/invoice",
		Stream: "paris.2026", ContentType: "text/plain; charset=utf-8",
	})
	found := lane.get(id)
	require.WithinRange(t, found.CreatedAt, before, lane.now())
	require.Equal(t, work.Work{
		ID: id, Flow: "invoice", Stream: "paris.2026", Deadline: deadline.UTC(),
		IdempotencyKey: "order-1/invoice", State: work.Pending, CreatedAt: found.CreatedAt,
	}, found)
	attempt := lane.attempt(work.Exempt, id)
	require.Equal(t, payload, attempt.Payload)
	require.Equal(t, "text/plain; charset=utf-8", attempt.ContentType)
	require.Equal(t, "order-1/invoice", attempt.IdempotencyKey)
	require.Equal(t, work.Ref{ID: id, Flow: "invoice", Deadline: deadline.UTC()}, attempt.Work)
}

// TestSubmitFillsIn what may be left out: the stream, the type, and a key of the
// work's own.
func TestSubmitFillsIn(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	first, second := lane.submit(work.Submission{Flow: "ack"}), lane.submit(work.Submission{Flow: "ack"})
	require.NotEqual(t, first, second, "without a key a repeat is a second work")
	require.NotEqual(t, lane.get(first).IdempotencyKey, lane.get(second).IdempotencyKey)
	attempt := lane.attempt(work.Exempt, first)
	require.Equal(t, "ack", attempt.Stream)
	require.Equal(t, "application/json", attempt.ContentType)
	require.Equal(t, []byte{}, attempt.Payload)
	require.NotEmpty(t, attempt.IdempotencyKey)
}

// TestSubmitBelongsToTheCallersTransaction: rolled back, nothing is left, not the
// key and not the flow; committed, the work is there with the business change.
func TestSubmitBelongsToTheCallersTransaction(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	lane.exec("CREATE TABLE invoice (id INTEGER)")
	submission := work.Submission{Flow: "invoice", IdempotencyKey: "i-1", Payload: []byte("x")}
	insert := func(result error) error {
		return pgx.BeginFunc(t.Context(), lane.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "INSERT INTO invoice VALUES (1)"); err != nil {
				return err
			}
			submitted, err := Submit(t.Context(), tx, submission)
			require.NoError(t, err)
			require.True(t, submitted.Created)
			return result
		})
	}
	tables := []string{"work", "work_payload", "work_key", "flow"}
	empty := lane.dump(tables...)
	changedMind := errors.New("changed my mind")
	require.ErrorIs(t, insert(changedMind), changedMind)
	require.Equal(t, empty, lane.dump(tables...))
	require.NoError(t, insert(nil))
	require.Equal(t, []int{1}, laneRead[int](lane, "SELECT count(*) FROM invoice"))
	for _, table := range tables {
		require.Len(t, lane.dump(table)[table], 1, table)
	}
}

// TestRefusalLeavesTheRestOfATransactionUsable when it is met behind a savepoint.
func TestRefusalLeavesTheRestOfATransactionUsable(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), lane.pool, func(tx pgx.Tx) error {
		refused := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			_, err := Submit(t.Context(), tx, work.Submission{Flow: "Not A Flow"})
			return err
		})
		require.ErrorAs(t, refused, new(*work.SubmissionError))
		_, err := Submit(t.Context(), tx, work.Submission{Flow: "invoice"})
		return err
	}))
	require.Len(t, lane.dump("work")["work"], 1)
}

// TestSubmitRefuses what is not accepted, naming field, value and what is; and
// stores nothing.
func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	long := strings.Repeat("k", 201)
	tests := []struct {
		name       string
		submission work.Submission
		field      string
		contains   []string
	}{
		{"no flow", work.Submission{}, "flow", []string{"flow ''", "1 to 64 of a-z"}},
		{"flow in capitals", work.Submission{Flow: "Invoice"}, "flow", []string{"'Invoice'", "accepted are"}},
		{"flow too long", work.Submission{Flow: strings.Repeat("f", 65)}, "flow", []string{"1 to 64"}},
		{"flow begins badly", work.Submission{Flow: "-f"}, "flow", []string{"'-f'", "beginning with a letter or digit"}},
		{"flow with a line end", work.Submission{Flow: "f\n"}, "flow", []string{"accepted are"}},
		{"flow of SQL", work.Submission{Flow: "f'); DROP TABLE adjourn.work; --"}, "flow", []string{"DROP TABLE"}},
		{"flow in other letters", work.Submission{Flow: "é"}, "flow", []string{"'é'"}},
		{"flow with NUL", work.Submission{Flow: "f\x00"}, "flow", []string{`"f\x00"`, "UTF-8 without NUL"}},
		{"flow not UTF-8", work.Submission{Flow: "\xff"}, "flow", []string{`"\xff"`}},
		{"stream", work.Submission{Flow: "f", Stream: "a b"}, "stream", []string{"stream 'a b'"}},
		{"stream with NUL", work.Submission{Flow: "f", Stream: "\x00"}, "stream", []string{"without NUL"}},
		{"key too long", work.Submission{Flow: "f", IdempotencyKey: long}, "idempotency_key", []string{"1 to 200"}},
		{"key with a space", work.Submission{Flow: "f", IdempotencyKey: "a b"}, "idempotency_key", []string{"'a b'"}},
		{"key with a header", work.Submission{Flow: "f", IdempotencyKey: "a\r\nX: 1"}, "idempotency_key", []string{"printable ASCII"}},
		{"key in other letters", work.Submission{Flow: "f", IdempotencyKey: "ключ"}, "idempotency_key", []string{"ключ"}},
		{"key with NUL", work.Submission{Flow: "f", IdempotencyKey: "a\x00"}, "idempotency_key", []string{"without NUL"}},
		{"type with a header", work.Submission{Flow: "f", ContentType: "a/b\r\nX: 1"}, "content_type", []string{"printable ASCII"}},
		{"type too long", work.Submission{Flow: "f", ContentType: strings.Repeat("t", 201)}, "content_type", []string{"1 to 200"}},
		{"deadline beyond all years", work.Submission{Flow: "f", Deadline: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "deadline", []string{"10000", "1 to 9999"}},
		{"deadline before all years", work.Submission{Flow: "f", Deadline: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, "deadline", []string{"-1"}},
	}
	for _, test := range tests {
		_, err := Submit(t.Context(), lane.pool, test.submission)
		refusal := new(work.SubmissionError)
		require.ErrorAs(t, err, &refusal, test.name)
		require.Equal(t, test.field, refusal.Field, test.name)
		require.Less(t, len(refusal.Message), 400, test.name)
		for _, part := range test.contains {
			require.Contains(t, refusal.Message, part, test.name)
		}
	}
	for table, rows := range lane.dump("work", "work_payload", "work_key", "flow") {
		require.Empty(t, rows, table)
	}
}

// TestSubmitAcceptsEveryAcceptedText at its bounds.
func TestSubmitAcceptsEveryAcceptedText(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	var printable strings.Builder
	for letter := byte(0x21); letter <= 0x7e; letter++ {
		printable.WriteByte(letter)
	}
	for _, submission := range []work.Submission{
		{Flow: "f"},
		{Flow: "0_.-"},
		{Flow: strings.Repeat("f", 64), Stream: strings.Repeat("9", 64)},
		{Flow: "f", IdempotencyKey: printable.String()},
		{Flow: "f", IdempotencyKey: strings.Repeat("k", 200)},
		{Flow: "f", ContentType: strings.Repeat("t", 200)},
		{Flow: "f", Deadline: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)},
		{Flow: "f", Deadline: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		found := lane.get(lane.submit(submission))
		require.Equal(t, submission.Deadline, found.Deadline)
		if submission.IdempotencyKey != "" {
			require.Equal(t, submission.IdempotencyKey, found.IdempotencyKey)
		}
	}
}

// TestPayloadIsBounded: as many bytes as the setting says, and not one more.
func TestPayloadIsBounded(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	payload := bytes.Repeat([]byte{0, 0xff, '\''}, 5*mebibyte/3+1)[:5*mebibyte]
	id := lane.submit(work.Submission{Flow: "f", Payload: payload})
	require.True(t, bytes.Equal(payload, lane.attempt(work.Exempt, id).Payload))
	refusal := new(work.SubmissionError)
	_, err := Submit(t.Context(), lane.pool, work.Submission{Flow: "f", Payload: append(payload, 'x')})
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "payload", refusal.Field)
	require.Equal(t, "payload of 5242881 bytes: accepted are at most 5242880 bytes (ADJOURN_PAYLOAD_BYTES_MAX)",
		refusal.Message)

	changed, err := lane.store.WriteSetting(t.Context(), "payload_bytes_max", "3")
	require.NoError(t, err)
	require.True(t, changed)
	lane.submit(work.Submission{Flow: "f", Payload: []byte("abc")})
	_, err = Submit(t.Context(), lane.pool, work.Submission{Flow: "f", Payload: []byte("abcd")})
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, refusal.Message, "payload of 4 bytes: accepted are at most 3 bytes")
	changed, err = lane.store.WriteSetting(t.Context(), "payload_bytes_max", "3")
	require.NoError(t, err)
	require.False(t, changed, "written only when it changes")
}

// TestSubmitKeepsTheServersWord when it is none of its refusals.
func TestSubmitKeepsTheServersWord(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	lane.exec("DROP FUNCTION adjourn.submit_work")
	_, err := Submit(t.Context(), lane.pool, work.Submission{Flow: "f"})
	require.ErrorContains(t, err, "submit work: ")
	raised := new(pgconn.PgError)
	require.ErrorAs(t, err, &raised)
	refusal := new(work.SubmissionError)
	require.False(t, errors.As(err, &refusal))
}
