package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

var (
	//go:embed begin.sql
	beginSQL string
	//go:embed payload.sql
	payloadSQL string
)

// The reason of a work that came back because its window ended first.
const reasonSlotExpired = "slot_expired"

var _ work.Recorder = (*Store)(nil)

// Begin implements [work.Recorder]. It reads the payloads, which never change and
// take no lock; then one autocommit statement numbers and marks the works that may
// be attempted now, in dispatch order, and sends those whose window is over back
// to pending. In error nothing was marked, unless the answer was lost on its way:
// then the works stay attempting until their attempts are surely over, and a
// recovery takes them.
func (store *Store) Begin(ctx context.Context, options work.BeginOptions) (work.Begun, error) {
	payloads, err := store.payloads(ctx, options.IDs)
	if err != nil {
		return work.Begun{}, fmt.Errorf("read payloads: %w", err)
	}
	judged, err := queryByIndex(ctx, store.pool, pgx.RowToStructByPos[judgedRow], beginSQL,
		options.IDs, options.Lane, options.WorkflowID,
		options.Window, options.Guard, options.Timeout, options.NoRetry)
	if err != nil {
		return work.Begun{}, fmt.Errorf("begin attempts: %w", err)
	}
	return sortOut(options.IDs, judged, payloads)
}

// payloadRow is a row of payload.sql.
type payloadRow struct {
	WorkID      work.ID
	ContentType string
	Body        []byte
}

func (store *Store) payloads(ctx context.Context, ids []work.ID) (map[work.ID]payloadRow, error) {
	rows, err := queryByIndex(ctx, store.pool, pgx.RowToStructByPos[payloadRow], payloadSQL, ids)
	if err != nil {
		return nil, err
	}
	payloads := make(map[work.ID]payloadRow, len(rows))
	for _, row := range rows {
		payloads[row.WorkID] = row
	}
	return payloads, nil
}

// judgedRow is one answer of begin.sql, in the order of its columns.
type judgedRow struct {
	ID             work.ID
	Fate           string
	Flow           string
	Deadline       *time.Time
	Stream         string
	IdempotencyKey string
	Number         int64
	Attempts       int
	Now            time.Time
	SlotLeft       *time.Duration
	WindowEnd      *time.Time
	ExpiresAt      *time.Time
}

func sortOut(
	asked []work.ID, judged []judgedRow, payloads map[work.ID]payloadRow,
) (work.Begun, error) {
	var begun work.Begun
	known := make([]work.ID, 0, len(judged))
	for _, row := range judged {
		known = append(known, row.ID)
		switch row.Fate {
		case "begun":
			payload, there := payloads[row.ID]
			if !there {
				return work.Begun{}, fmt.Errorf("begin attempts: work %d has no payload", row.ID)
			}
			begun.Attempts = append(begun.Attempts, row.attempt(payload))
		case "refused":
			begun.Refused = append(begun.Refused, work.Result{
				ID: row.ID, Outcome: work.OutcomeDeferred, Reason: reasonSlotExpired,
				RetryAt: instantOf(row.WindowEnd), Number: row.Number,
			})
		default:
			begun.Busy = append(begun.Busy, work.Busy{ID: row.ID, Until: instantOf(row.ExpiresAt)})
		}
	}
	for _, id := range asked {
		if !slices.Contains(known, id) {
			begun.Gone = append(begun.Gone, id)
			known = append(known, id) // an ID asked twice is answered once
		}
	}
	return begun, nil
}

func (row judgedRow) attempt(payload payloadRow) work.Attempt {
	return work.Attempt{
		Work:     work.Ref{ID: row.ID, Flow: row.Flow, Deadline: instantOf(row.Deadline)},
		Sequence: row.Attempts, Stream: row.Stream, Number: row.Number,
		IdempotencyKey: row.IdempotencyKey, ContentType: payload.ContentType,
		Payload: payload.Body, SlotLeft: valueOf(row.SlotLeft), BegunAt: row.Now.UTC(),
	}
}

// instantOf reads a nullable instant in UTC: NULL is the zero instant.
func instantOf(nullable *time.Time) time.Time { return inUTC(valueOf(nullable)) }

// valueOf reads a nullable column: NULL is the zero value.
func valueOf[T any](nullable *T) T {
	if nullable == nil {
		var zero T
		return zero
	}
	return *nullable
}
