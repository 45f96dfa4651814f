package postgres

import (
	"context"
	_ "embed" // lock.sql, mark.sql
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

//go:embed lock.sql
var lockSQL string

//go:embed mark.sql
var markSQL string

// admission is what one transaction came to.
type admission struct {
	grant     quota.Grant
	going     []admitted
	carriages []work.Carriage
	// refused by the arbiter although there seemed to be room.
	refused []candidate
}

// reserveAndMark is the transaction. It is rolled back, slots and all, when more
// than room slots are granted.
func (store *Store) reserveAndMark(
	ctx context.Context, options AdmitOptions, mayGo []candidate, room int,
) (admission, error) {
	// Whatever the database's default: a grant is computed from the row as it is
	// once locked, not from the transaction's snapshot.
	tx, err := store.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return admission{}, fmt.Errorf("begin the admission: %w", err)
	}
	defer rollBack(ctx, tx)
	locked, err := lockCandidates(ctx, tx, mayGo)
	if err != nil || len(locked) == 0 {
		return admission{}, err
	}
	grant, err := options.Register.Reserve(ctx, tx, options.Policy.Ceiling, len(locked))
	if err != nil {
		return admission{}, err
	}
	if grant.Slots > room {
		return admission{}, errRoomAppeared
	}
	done := admission{grant: grant}
	done.going, done.refused = divide(locked, grant)
	if len(done.going) == 0 {
		return done, nil
	}
	// From here to the commit every other admission waits: nothing but this.
	wouldDefer := tallyOf(done.going, work.WouldDefer).Total()
	if err := options.Register.Charge(ctx, tx, grant.Window.Start, wouldDefer); err != nil {
		return admission{}, err
	}
	done.carriages = carriagesOf(done.going, grant.Window.Start, options)
	if err := mark(ctx, tx, done.going, done.carriages, grant.Now); err != nil {
		return admission{}, err
	}
	err = options.Register.AddFigures(ctx, tx, figuresOf(done.going, grant.Window.Start))
	if err != nil {
		return admission{}, err
	}
	if err := tx.Commit(ctx); err != nil {
		return admission{}, fmt.Errorf("commit the admission: %w", err)
	}
	return done, nil
}

// rollBackTimeout bounds ending a transaction that failed.
const rollBackTimeout = time.Second

// rollBack ends a transaction that was not committed. Its own failure changes
// nothing: the connection is closed then, and the server ends the transaction.
func rollBack(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// lockCandidates locks works in dispatch order and returns those that still wait;
// works that somebody else holds are passed over. The rest of the transaction is
// planned for the indexes.
func lockCandidates(ctx context.Context, tx pgx.Tx, candidates []candidate) ([]candidate, error) {
	ids := make([]work.ID, len(candidates))
	for i, waits := range candidates {
		ids[i] = waits.ID
	}
	ids, err := queryByIndex(ctx, tx, pgx.RowTo[work.ID], lockSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("lock works: %w", err)
	}
	held := make(map[work.ID]bool, len(ids))
	for _, id := range ids {
		held[id] = true
	}
	locked := make([]candidate, 0, len(ids))
	for _, waits := range candidates {
		if held[waits.ID] {
			locked = append(locked, waits)
		}
	}
	return locked, nil
}

// mark writes the admission into the works' rows, which are locked; now is the
// clock that chose the window.
func mark(
	ctx context.Context, tx pgx.Tx, going []admitted, carriages []work.Carriage, now time.Time,
) error {
	ids := make([]work.ID, 0, len(going))
	workflowIDs := make([]string, 0, len(going))
	for _, carriage := range carriages {
		for _, ref := range carriage.Works {
			ids = append(ids, ref.ID)
			workflowIDs = append(workflowIDs, carriage.WorkflowID)
		}
	}
	admissions := make([]string, 0, len(going))
	enforced := make([]bool, 0, len(going))
	for _, goes := range going {
		admissions = append(admissions, string(goes.admission))
		enforced = append(enforced, goes.enforced)
	}
	tag, err := tx.Exec(ctx, markSQL,
		carriages[0].SlotStart, now, ids, workflowIDs, admissions, enforced)
	if err != nil {
		return fmt.Errorf("mark works admitted: %w", err)
	}
	if tag.RowsAffected() != int64(len(going)) {
		return fmt.Errorf("mark works admitted: marked %d of %d locked works",
			tag.RowsAffected(), len(going))
	}
	return nil
}

// figuresOf counts what goes, by flow and admission.
func figuresOf(going []admitted, windowStart time.Time) []quotapostgres.Figure {
	var figures []quotapostgres.Figure
	for admission, decision := range map[work.Admission]string{
		work.Granted:    quotapostgres.DecisionGranted,
		work.WouldDefer: quotapostgres.DecisionWouldDefer,
	} {
		for flow, count := range tallyOf(going, admission) {
			figures = append(figures, quotapostgres.Figure{
				WindowStart: windowStart, Flow: flow, Decision: decision, Count: int64(count),
			})
		}
	}
	return figures
}
