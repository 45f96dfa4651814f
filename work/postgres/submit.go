package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/adjourn/adjourn/work"
)

const submitSQL = `SELECT s.work_id, s.created
  FROM adjourn.submit_work(flow => $1, payload => $2, deadline => $3,
       idempotency_key => $4, stream => $5, content_type => $6) AS s`

// The server's error codes that are told apart here.
const (
	invalidParameterValue = "22023"
	uniqueViolation       = "23505"
	serializationFailure  = "40001"
	deadlockDetected      = "40P01"
	programLimitExceeded  = "54000"
)

// Submit hands in one work in the caller's own transaction, so that the work
// exists exactly if the business change does. A refusal is a
// [*work.SubmissionError]; the database has aborted the transaction then, as
// after any error, and only a rollback (to a savepoint, if there is one) goes on.
func Submit(ctx context.Context, tx Querier, submission work.Submission) (work.Submitted, error) {
	if err := checkText(submission); err != nil {
		return work.Submitted{}, err
	}
	var submitted work.Submitted
	err := tx.QueryRow(ctx, submitSQL, submitArguments(submission)...).
		Scan(&submitted.ID, &submitted.Created)
	if err != nil {
		return work.Submitted{}, submissionError(err)
	}
	return submitted, nil
}

// SubmitResult is one submission's own fate: Err is a [*work.SubmissionError]
// when the register refused it. After any other error it is not known whether the
// work was stored; handing it in again is safe with an idempotency key.
type SubmitResult struct {
	work.Submitted
	Err error
}

// The bounds of one round trip of SubmitAll, in works and payload bytes.
const (
	submitBatch      = 500
	submitBatchBytes = 8 << 20
)

// SubmitAll hands in works, each with its own fate: a refused one undoes no
// other. The results stand in the order of the submissions. It works through
// round trips of a bounded size; ctx ending leaves the rest with its error.
func (store *Store) SubmitAll(ctx context.Context, submissions []work.Submission) []SubmitResult {
	results := make([]SubmitResult, len(submissions))
	for start := 0; start < len(submissions); {
		end := start + batchSize(submissions[start:])
		store.submitBatch(ctx, submissions[start:end], results[start:end])
		start = end
	}
	return results
}

// batchSize is how many of the submissions fit into one round trip, at least one.
func batchSize(submissions []work.Submission) int {
	bytes := 0
	for i, submission := range submissions {
		if bytes += len(submission.Payload); i > 0 && (i == submitBatch || bytes > submitBatchBytes) {
			return i
		}
	}
	return len(submissions)
}

// submitBatch hands all in as one transaction and one round trip. A refusal
// undoes that, so it is found by halving: one among five hundred costs some twenty
// round trips, and nobody's bytes travel more than ten times.
func (store *Store) submitBatch(ctx context.Context, submissions []work.Submission, results []SubmitResult) {
	err := store.submitTogether(ctx, submissions, results)
	if err == nil {
		return
	}
	if half := len(submissions) / 2; half > 0 && wasUndone(err) {
		store.submitBatch(ctx, submissions[:half], results[:half])
		store.submitBatch(ctx, submissions[half:], results[half:])
		return
	}
	for i := range results {
		results[i] = SubmitResult{Err: err}
	}
}

func (store *Store) submitTogether(ctx context.Context, submissions []work.Submission, results []SubmitResult) error {
	batch := &pgx.Batch{}
	for i, submission := range submissions {
		if err := checkText(submission); err != nil {
			return err
		}
		batch.Queue(submitSQL, submitArguments(submission)...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&results[i].ID, &results[i].Created)
		})
	}
	// A batch outside a transaction is one implicit transaction.
	if err := store.pool.SendBatch(ctx, batch).Close(); err != nil {
		return submissionError(err)
	}
	return nil
}

// wasUndone tells whether the server surely kept nothing of a batch and whether
// handing its parts in again may help: one submission is refused, or two batches
// met on the same idempotency keys in opposite orders. After any other error the
// batch may have been stored, and what has no key would be stored twice.
func wasUndone(err error) bool {
	if refusal := new(work.SubmissionError); errors.As(err, &refusal) {
		return true
	}
	raised := new(pgconn.PgError)
	return errors.As(err, &raised) && slices.Contains([]string{deadlockDetected, serializationFailure}, raised.Code)
}

func submitArguments(submission work.Submission) []any {
	payload := submission.Payload
	if payload == nil {
		payload = []byte{}
	}
	return []any{
		submission.Flow, payload, nullableTime(submission.Deadline),
		nullable(submission.IdempotencyKey), nullable(submission.Stream),
		nullable(submission.ContentType),
	}
}

func nullableTime(instant time.Time) *time.Time {
	if instant.IsZero() {
		return nil
	}
	return &instant
}

// yearMax keeps instants within what both JSON and the database can write.
const yearMax = 9999

// checkText refuses what could not even be sent to the database; all else is
// checked there, once, for every language.
func checkText(submission work.Submission) error {
	fields := []struct{ name, value string }{
		{"flow", submission.Flow},
		{"idempotency_key", submission.IdempotencyKey},
		{"stream", submission.Stream},
		{"content_type", submission.ContentType},
	}
	for _, field := range fields {
		if !isText(field.value) {
			return &work.SubmissionError{Field: field.name, Message: fmt.Sprintf(
				"%s %.80q: accepted is text in UTF-8 without NUL", field.name, field.value)}
		}
	}
	if year := submission.Deadline.UTC().Year(); !submission.Deadline.IsZero() && (year < 1 || year > yearMax) {
		return &work.SubmissionError{Field: "deadline", Message: fmt.Sprintf(
			"deadline in the year %d: accepted are the years 1 to %d", year, yearMax)}
	}
	return nil
}

// submissionError translates what submit_work raises on purpose: it names the column.
func submissionError(err error) error {
	if raised := new(pgconn.PgError); errors.As(err, &raised) && raised.ColumnName != "" &&
		slices.Contains([]string{invalidParameterValue, programLimitExceeded, uniqueViolation}, raised.Code) {
		return &work.SubmissionError{Field: raised.ColumnName, Message: raised.Message}
	}
	return fmt.Errorf("submit work: %w", err)
}
