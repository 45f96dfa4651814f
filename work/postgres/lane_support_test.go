package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/work"
)

const (
	// laneWindow begins when a work is admitted, so that it outlasts the test.
	laneWindow  = 24 * time.Hour
	laneGuard   = 2 * time.Second
	laneTimeout = time.Minute
	// lanePatience bounds every wait of these tests for another session.
	lanePatience = time.Minute
)

// lane is what tests of attempts share: a database and a store on it.
type lane struct {
	t     testing.TB
	pool  *pgxpool.Pool
	store *Store
}

func newLane(t testing.TB) *lane {
	t.Helper()
	pool := dbtest.New(t)
	return &lane{t: t, pool: pool, store: New(pool)}
}

func (lane *lane) exec(statement string, arguments ...any) {
	lane.t.Helper()
	_, err := lane.pool.Exec(lane.t.Context(), statement, arguments...)
	require.NoError(lane.t, err)
}

// laneRead scans the one column of a query's rows.
func laneRead[T any](lane *lane, query string, arguments ...any) []T {
	lane.t.Helper()
	rows, err := lane.pool.Query(lane.t.Context(), query, arguments...)
	require.NoError(lane.t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(lane.t, err)
	return values
}

func (lane *lane) now() time.Time {
	lane.t.Helper()
	now, err := lane.store.Now(lane.t.Context())
	require.NoError(lane.t, err)
	return now
}

func (lane *lane) submit(submission work.Submission) work.ID {
	lane.t.Helper()
	submitted, err := Submit(lane.t.Context(), lane.pool, submission)
	require.NoError(lane.t, err)
	return submitted.ID
}

// works hands in n works of a flow, undated.
func (lane *lane) works(flow string, n int) []work.ID {
	lane.t.Helper()
	ids := make([]work.ID, 0, n)
	for _, result := range lane.store.SubmitAll(lane.t.Context(), repeat(work.Submission{Flow: flow}, n)) {
		require.NoError(lane.t, result.Err)
		ids = append(ids, result.ID)
	}
	return ids
}

func repeat(submission work.Submission, n int) []work.Submission {
	all := make([]work.Submission, n)
	for i := range all {
		all[i] = submission
	}
	return all
}

// admit makes pending works admitted, carried by that workflow, as a pass would.
// A governed slot's window begins now.
func (lane *lane) admit(name work.Lane, workflowID string, ids ...work.ID) {
	lane.t.Helper()
	lane.exec(`
		UPDATE adjourn.work SET state = 'admitted', lane = $1, workflow_id = $2, not_before = NULL,
		       carried_since = clock_timestamp(),
		       slot_start = CASE WHEN $1 = 'governed' THEN clock_timestamp() END,
		       admission  = CASE WHEN $1 = 'governed' THEN 'granted' END,
		       enforced   = CASE WHEN $1 = 'governed' THEN TRUE END
		 WHERE id = ANY($3) AND state = 'pending'`, name, workflowID, ids)
}

func beginOptions(name work.Lane, workflowID string, ids ...work.ID) work.BeginOptions {
	return work.BeginOptions{
		Lane: name, WorkflowID: workflowID, IDs: ids,
		Guard: laneGuard, Window: laneWindow, Timeout: laneTimeout,
	}
}

func (lane *lane) begin(name work.Lane, workflowID string, ids ...work.ID) work.Begun {
	lane.t.Helper()
	begun, err := lane.store.Begin(lane.t.Context(), beginOptions(name, workflowID, ids...))
	require.NoError(lane.t, err)
	return begun
}

// attempt admits one work and begins its attempt.
func (lane *lane) attempt(name work.Lane, id work.ID) work.Attempt {
	lane.t.Helper()
	lane.admit(name, "w", id)
	begun := lane.begin(name, "w", id)
	require.Len(lane.t, begun.Attempts, 1, "%+v", begun)
	return begun.Attempts[0]
}

func (lane *lane) record(name work.Lane, endings ...work.Ending) []work.ID {
	lane.t.Helper()
	recorded, err := lane.store.Record(lane.t.Context(), name, endings)
	require.NoError(lane.t, err)
	return recorded
}

func ending(attempt work.Attempt, outcome work.Outcome) work.Ending {
	return work.Ending{ID: attempt.Work.ID, Sequence: attempt.Sequence, Outcome: outcome}
}

func (lane *lane) get(id work.ID) work.Work {
	lane.t.Helper()
	found, err := lane.store.Get(lane.t.Context(), id)
	require.NoError(lane.t, err)
	return found
}

func (lane *lane) attempts(id work.ID) []work.Made {
	lane.t.Helper()
	attempts, err := lane.store.Attempts(lane.t.Context(), id, 100)
	require.NoError(lane.t, err)
	return attempts
}

// expire makes the attempt in flight surely over.
func (lane *lane) expire(ids ...work.ID) {
	lane.t.Helper()
	lane.exec(`UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() - INTERVAL '1 s'
	            WHERE id = ANY($1) AND state = 'attempting'`, ids)
}

// recover runs a recovery with a back-off of one hour.
func (lane *lane) recover(noRetryFlows ...string) work.Recovery {
	lane.t.Helper()
	recovery, err := lane.store.Recover(lane.t.Context(), work.RecoverOptions{
		Window: laneWindow, RestartAfter: time.Hour, NoRetryFlows: noRetryFlows,
		Backoff: work.Backoff{Base: time.Hour, Max: time.Hour}, Limit: 1000,
	})
	require.NoError(lane.t, err)
	return recovery
}

// dump is everything stored, table by table, down to the version of each row.
func (lane *lane) dump(tables ...string) map[string][]string {
	lane.t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		all[table] = laneRead[string](lane,
			"SELECT ctid || ' ' || xmin || ' ' || r::TEXT FROM adjourn."+table+" AS r ORDER BY r::TEXT")
	}
	return all
}

// waitsForLock tells when one more session of this database waits for a lock.
func (lane *lane) waitsForLock() {
	lane.t.Helper()
	lane.eventually("a session waits for a lock", func() bool {
		return laneRead[int](lane, `
			SELECT count(*) FROM pg_stat_activity
			 WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0] > 0
	})
}

func (lane *lane) eventually(what string, condition func() bool) {
	lane.t.Helper()
	ctx, cancel := context.WithTimeout(lane.t.Context(), lanePatience)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.Fail(lane.t, "waited in vain", "%s, for %s", what, lanePatience)
		}
	}
}

// traced is a store on a pool of its own whose statements and round trips are
// counted.
func (lane *lane) traced(change func(*pgxpool.Config)) (*Store, *trace) {
	lane.t.Helper()
	counted := &trace{}
	config := lane.pool.Config()
	config.ConnConfig.Tracer = counted
	config.MaxConns = 4
	if change != nil {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(lane.t.Context(), config)
	require.NoError(lane.t, err)
	lane.t.Cleanup(pool.Close)
	return New(pool), counted
}

// trace counts statements, batches, and the statements in them.
type trace struct {
	statements, batches, batched atomic.Int64
}

func (trace *trace) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData,
) context.Context {
	trace.statements.Add(1)
	return ctx
}

func (*trace) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (trace *trace) TraceBatchStart(
	ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData,
) context.Context {
	trace.batches.Add(1)
	return ctx
}

func (trace *trace) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {
	trace.batched.Add(1)
}

func (*trace) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
