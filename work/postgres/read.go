package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

const workColumns = `id, flow, stream, deadline, idempotency_key, state, lane, workflow_id,
       slot_start, admission, enforced, number, attempts, not_before, carried_since,
       attempt_begun_at, attempt_expires_at, outcome, reason, detail,
       status, reference, answer, late, created_at, finished_at`

// Get reads one work, finished or not; [work.ErrNotFound] when there is none.
func (store *Store) Get(ctx context.Context, id work.ID) (work.Work, error) {
	rows, err := store.pool.Query(ctx, "SELECT "+workColumns+" FROM adjourn.work_all WHERE id = $1", id)
	if err != nil {
		return work.Work{}, fmt.Errorf("read work %d: %w", id, err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanWork)
	if errors.Is(err, pgx.ErrNoRows) {
		return work.Work{}, fmt.Errorf("work %d: %w", id, work.ErrNotFound)
	}
	if err != nil {
		return work.Work{}, fmt.Errorf("read work %d: %w", id, err)
	}
	return found, nil
}

// listSQL is planned anew for each call's values, see [Store.List]: then the
// conditions that are not asked for fall away, a table that cannot hold the asked
// states is not read at all, and each half of the union is read newest first and
// no further than the limit.
const listSQL = `
SELECT ` + workColumns + `
  FROM adjourn.work_all
 WHERE ($1::TEXT[] IS NULL OR state = ANY($1::TEXT[]))
   AND ($2::TEXT IS NULL OR flow = $2::TEXT)
   AND ($3::TEXT IS NULL OR lane = $3::TEXT)
   AND ($4::TEXT IS NULL OR reason = $4::TEXT)
   AND ($5::BIGINT IS NULL OR id < $5::BIGINT)
 ORDER BY id DESC
 LIMIT $6::BIGINT`

// List reads works, newest first. The next page is asked with Before set to the
// last ID of this one. A flow, lane or reason that few works have costs reading
// the others up to the limit, within the pool's statement time-out.
func (store *Store) List(ctx context.Context, options work.ListOptions) ([]work.Work, error) {
	limit := options.Limit
	if limit < 1 {
		limit = work.ListLimit
	}
	var states []string
	for _, state := range options.States {
		states = append(states, string(state))
	}
	rows, err := store.pool.Query(ctx, listSQL, pgx.QueryExecModeCacheDescribe, states, nullable(options.Flow),
		nullable(options.Lane), nullable(options.Reason), nullable(options.Before), rowLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("list works: %w", err)
	}
	works, err := pgx.CollectRows(rows, scanWork)
	if err != nil {
		return nil, fmt.Errorf("list works: %w", err)
	}
	return works, nil
}

func scanWork(row pgx.CollectableRow) (work.Work, error) {
	var found work.Work
	var lane, workflowID, admission, outcome, reason, detail, reference, answer *string
	var deadline, slotStart, notBefore, carriedSince, begunAt, expiresAt, finishedAt *time.Time
	var enforced, late *bool
	var number *int64
	var status *int
	err := row.Scan(&found.ID, &found.Flow, &found.Stream, &deadline, &found.IdempotencyKey,
		&found.State, &lane, &workflowID, &slotStart, &admission, &enforced, &number,
		&found.Attempts, &notBefore, &carriedSince, &begunAt, &expiresAt, &outcome, &reason,
		&detail, &status, &reference, &answer, &late, &found.CreatedAt, &finishedAt)
	if err != nil {
		return work.Work{}, err
	}
	found.Lane, found.Admission = work.Lane(valueOf(lane)), work.Admission(valueOf(admission))
	found.WorkflowID, found.Enforced, found.Number = valueOf(workflowID), valueOf(enforced), valueOf(number)
	found.Outcome, found.Reason, found.Detail = work.Outcome(valueOf(outcome)), valueOf(reason), valueOf(detail)
	found.Receipt = work.Receipt{Status: valueOf(status), Reference: valueOf(reference), Answer: valueOf(answer)}
	found.Late = valueOf(late)
	found.Deadline, found.SlotStart, found.NotBefore = instantOf(deadline), instantOf(slotStart), instantOf(notBefore)
	found.CarriedSince, found.AttemptBegunAt = instantOf(carriedSince), instantOf(begunAt)
	found.AttemptExpiresAt, found.FinishedAt = instantOf(expiresAt), instantOf(finishedAt)
	found.CreatedAt = found.CreatedAt.UTC()
	return found, nil
}

// Attempts reads how a work's attempts ended, latest first, at most limit.
func (store *Store) Attempts(ctx context.Context, id work.ID, limit int) ([]work.Made, error) {
	rows, err := store.pool.Query(ctx, `
SELECT attempt, lane, slot_start, coalesce(admission, ''), coalesce(enforced, FALSE), number,
       begun_at, ended_at, outcome, spent, coalesce(status, 0), coalesce(reference, ''),
       coalesce(answer, ''), coalesce(detail, '')
  FROM adjourn.work_attempt WHERE work_id = $1 ORDER BY attempt DESC LIMIT $2`, id, rowLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("read the attempts of work %d: %w", id, err)
	}
	attempts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (made work.Made, err error) {
		var slotStart *time.Time
		err = row.Scan(&made.Sequence, &made.Lane, &slotStart, &made.Admission, &made.Enforced,
			&made.Number, &made.BegunAt, &made.EndedAt, &made.Outcome, &made.Spent,
			&made.Receipt.Status, &made.Receipt.Reference, &made.Receipt.Answer, &made.Detail)
		made.SlotStart, made.BegunAt, made.EndedAt = instantOf(slotStart), made.BegunAt.UTC(), made.EndedAt.UTC()
		return made, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the attempts of work %d: %w", id, err)
	}
	return attempts, nil
}

// Deferrals reads in which windows a work was refused, latest first, at most
// limit.
func (store *Store) Deferrals(ctx context.Context, id work.ID, limit int) ([]work.Deferral, error) {
	rows, err := store.pool.Query(ctx, `
SELECT window_start, reason, deferred_at
  FROM adjourn.deferral WHERE work_id = $1 ORDER BY window_start DESC LIMIT $2`, id, rowLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("read the deferrals of work %d: %w", id, err)
	}
	deferrals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (refused work.Deferral, err error) {
		err = row.Scan(&refused.WindowStart, &refused.Reason, &refused.At)
		refused.WindowStart, refused.At = refused.WindowStart.UTC(), refused.At.UTC()
		return refused, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the deferrals of work %d: %w", id, err)
	}
	return deferrals, nil
}

// Counts tells how many works each flow has in each state, emitted and cancelled
// ones within their retention. Its cost grows with all works kept.
func (store *Store) Counts(ctx context.Context) ([]work.Count, error) {
	return store.counts(ctx, `
SELECT flow, state, count(*), min(created_at)
  FROM adjourn.work_all GROUP BY flow, state ORDER BY flow, state`)
}

// Waiting tells how many works each flow has pending. Its cost grows with the
// backlog, not with what was emitted.
func (store *Store) Waiting(ctx context.Context) ([]work.Count, error) {
	return store.counts(ctx, `
SELECT flow, state, count(*), min(created_at)
  FROM adjourn.work WHERE state = 'pending' GROUP BY flow, state ORDER BY flow`)
}

func (store *Store) counts(ctx context.Context, sql string) ([]work.Count, error) {
	rows, err := store.pool.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("count works: %w", err)
	}
	counts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (count work.Count, err error) {
		err = row.Scan(&count.Flow, &count.State, &count.Works, &count.Oldest)
		count.Oldest = count.Oldest.UTC()
		return count, err
	})
	if err != nil {
		return nil, fmt.Errorf("count works: %w", err)
	}
	return counts, nil
}

// Flows lists the flows ever submitted, by name.
func (store *Store) Flows(ctx context.Context) ([]string, error) {
	rows, err := store.pool.Query(ctx, "SELECT name FROM adjourn.flow ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("list flows: %w", err)
	}
	flows, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list flows: %w", err)
	}
	return flows, nil
}
