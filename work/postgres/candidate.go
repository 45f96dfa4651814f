package postgres

import (
	"context"
	_ "embed" // choose.sql, asked.sql
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

//go:embed choose.sql
var chooseSQL string

//go:embed asked.sql
var askedSQL string

// candidate is a governed work that waits for a slot.
type candidate struct {
	work.Ref
	enforced bool
}

// found are the works one admission is about.
type found struct {
	// candidates in dispatch order.
	candidates []candidate
	// carried are asked works that the asking workflow carries already.
	carried []work.Carriage
	// waiting are asked works in back-off.
	waiting []work.Result
}

// reasonBackOff tells a workflow that asks for a work why it gets none: not the
// arbiter's refusal, so it is no deferral.
const reasonBackOff = "back_off"

// find reads the works an admission is about, and locks none. It names no table
// of the quota.
func (store *Store) find(ctx context.Context, options AdmitOptions) (found, error) {
	if len(options.IDs) > 0 {
		return store.findAsked(ctx, options)
	}
	flows, enforced := governedFlows(options.Policy)
	if len(flows) == 0 || options.Limit < 1 {
		return found{}, nil
	}
	candidates, err := queryByIndex(ctx, store.pool, scanCandidate, chooseSQL,
		flows, enforced, options.limit(), options.Margin)
	if err != nil {
		return found{}, fmt.Errorf("choose governed works: %w", err)
	}
	return found{candidates: candidates}, nil
}

// scanCandidate reads a row of choose.sql.
func scanCandidate(row pgx.CollectableRow) (candidate, error) {
	var chosen candidate
	err := row.Scan(&chosen.ID, &chosen.Flow, (*zeronull.Timestamptz)(&chosen.Deadline), &chosen.enforced)
	chosen.Deadline = inUTC(chosen.Deadline)
	return chosen, err
}

// askedWork is a row of asked.sql.
type askedWork struct {
	candidate
	// slotStart is set when the asking workflow carries the work already,
	// waitsUntil while it is in back-off.
	slotStart, waitsUntil time.Time
}

func scanAsked(row pgx.CollectableRow) (askedWork, error) {
	var asked askedWork
	err := row.Scan(&asked.ID, &asked.Flow, (*zeronull.Timestamptz)(&asked.Deadline), &asked.enforced,
		(*zeronull.Timestamptz)(&asked.slotStart), (*zeronull.Timestamptz)(&asked.waitsUntil))
	asked.Deadline = inUTC(asked.Deadline)
	asked.slotStart, asked.waitsUntil = inUTC(asked.slotStart), inUTC(asked.waitsUntil)
	return asked, err
}

// findAsked reads the works asked for by ID. Those that are finished, closing,
// exempt or carried by another workflow are in no part of the answer.
func (store *Store) findAsked(ctx context.Context, options AdmitOptions) (found, error) {
	flows, enforced := governedFlows(options.Policy)
	works, err := queryByIndex(ctx, store.pool, scanAsked, askedSQL,
		options.IDs, flows, enforced, options.Margin, options.WorkflowID)
	if err != nil {
		return found{}, fmt.Errorf("read the asked works: %w", err)
	}
	var answer found
	for _, asked := range works {
		switch {
		case !asked.slotStart.IsZero():
			answer.carry(asked.Ref, options.WorkflowID, asked.slotStart)
		case !asked.waitsUntil.IsZero():
			answer.waiting = append(answer.waiting, work.Result{
				ID: asked.ID, Outcome: work.OutcomeDeferred,
				Reason: reasonBackOff, RetryAt: asked.waitsUntil,
			})
		default:
			answer.candidates = append(answer.candidates, asked.candidate)
		}
	}
	return answer, nil
}

// carry adds a work to the carriage of its window, of which there are as many as
// windows in which the workflow asked.
func (answer *found) carry(ref work.Ref, workflowID string, slotStart time.Time) {
	for i := range answer.carried {
		if answer.carried[i].SlotStart.Equal(slotStart) {
			answer.carried[i].Works = append(answer.carried[i].Works, ref)
			return
		}
	}
	answer.carried = append(answer.carried, work.Carriage{
		Lane: work.Governed, WorkflowID: workflowID, SlotStart: slotStart, Works: []work.Ref{ref},
	})
}

// governedFlows are the policy's governed flows and, side by side, whether each
// is enforced.
func governedFlows(policy quota.Policy) (flows []string, enforced []bool) {
	flows = policy.Governed()
	enforced = make([]bool, len(flows))
	for i, flow := range flows {
		enforced[i] = policy.Treatment(flow) == quota.Enforce
	}
	return flows, enforced
}

// inUTC leaves the zero instant as it is.
func inUTC(instant time.Time) time.Time {
	if instant.IsZero() {
		return time.Time{}
	}
	return instant.UTC()
}
