package postgres

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// statement is one that was sent, with its arguments.
type statement struct {
	text      string
	arguments []any
}

// recorder keeps the statements that are sent.
type recorder struct {
	mutex sync.Mutex
	sent  []statement
}

func (recorder *recorder) add(text string, arguments []any) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	recorder.sent = append(recorder.sent, statement{text, arguments})
}

func (recorder *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	recorder.add(data.SQL, data.Args)
	return ctx
}

func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (recorder *recorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	recorder.add(data.SQL, data.Args)
}

func (*recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// planNode is what this test reads of EXPLAIN's answer.
type planNode struct {
	NodeType     string     `json:"Node Type"`
	Relation     string     `json:"Relation Name"`
	Rows         float64    `json:"Actual Rows"`
	Loops        float64    `json:"Actual Loops"`
	Filtered     float64    `json:"Rows Removed by Filter"`
	Rechecked    float64    `json:"Rows Removed by Index Recheck"`
	WALRecords   int        `json:"WAL Records"`
	BuffersHit   int        `json:"Shared Hit Blocks"`
	BuffersRead  int        `json:"Shared Read Blocks"`
	PlannedBelow []planNode `json:"Plans"`
}

// worksRead is how many rows of the work table the plan read.
func (node planNode) worksRead() float64 {
	read := 0.0
	if node.Relation == "work" && node.NodeType != "ModifyTable" && node.NodeType != "LockRows" {
		read = (node.Rows + node.Filtered + node.Rechecked) * node.Loops
	}
	for _, below := range node.PlannedBelow {
		read += below.worksRead()
	}
	return read
}

// explain runs a statement as a pass would and tells what it cost.
func (pass *pass) explain(sent statement) planNode {
	pass.t.Helper()
	tx, err := pass.pool.Begin(pass.t.Context())
	require.NoError(pass.t, err)
	defer rollBack(pass.t.Context(), tx)
	_, err = tx.Exec(pass.t.Context(), byIndexSQL)
	require.NoError(pass.t, err)
	var answer []byte
	err = tx.QueryRow(pass.t.Context(),
		"EXPLAIN (ANALYZE, WAL, BUFFERS, TIMING OFF, FORMAT JSON) "+sent.text, sent.arguments...).Scan(&answer)
	require.NoError(pass.t, err, sent.text)
	var plans []struct{ Plan planNode }
	require.NoError(pass.t, json.Unmarshal(answer, &plans))
	return plans[0].Plan
}

// versions tells every row of the works and of the quota apart from any other
// version of it, locks included.
func (pass *pass) versions() []string {
	pass.t.Helper()
	return passRead[string](pass, `
		SELECT md5(string_agg(concat_ws(' ', tableoid, ctid, xmin, xmax), ',' ORDER BY tableoid, ctid))
		  FROM (SELECT tableoid, ctid, xmin, xmax FROM adjourn.work
		        UNION ALL SELECT tableoid, ctid, xmin, xmax FROM adjourn.quota_window
		        UNION ALL SELECT tableoid, ctid, xmin, xmax FROM adjourn.quota_figure
		        UNION ALL SELECT tableoid, ctid, xmin, xmax FROM adjourn.deferral) AS rows`)
}

// TestFullWindowCostsAPassLittle: with the window full and a hundred thousand works
// pending, of which the planner knows nothing, a pass reads a bounded number of
// index entries, locks nothing, and after the first deferrals writes nothing (A28,
// A34; design section 3).
func TestFullWindowCostsAPassLittle(t *testing.T) {
	t.Parallel()
	const limit = 500
	pass := newPass(t, 1)
	pass.exec("ALTER TABLE adjourn.work SET (autovacuum_enabled = off)")
	pass.submit("e", time.Hour)
	require.Equal(t, 1, pass.admit(pass.options(limit, 1)).Granted.Total())
	pass.backlog("e", 100_000)
	first := pass.admit(pass.options(limit, 20))
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": limit}}, first.Deferred, "no more than the limit")

	var sent recorder
	config := pass.pool.Config()
	config.ConnConfig.Tracer = &sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	before := pass.versions()
	pass.onePass(New(pool), limit)
	require.Equal(t, before, pass.versions(), "not a row is written or locked")

	worksRead := 0.0
	for _, one := range sent.sent {
		plan := pass.explain(one)
		require.Zero(t, plan.WALRecords, one.text)
		require.Less(t, plan.BuffersHit+plan.BuffersRead, 10*limit, one.text)
		worksRead += plan.worksRead()
	}
	require.Positive(t, worksRead)
	require.LessOrEqual(t, worksRead, float64(2*2*limit), "dated and undated works of two flows")
	require.Less(t, len(sent.sent), 20)
}

// onePass does what a pass does, on store, and finds nothing to start.
func (pass *pass) onePass(store *Store, limit int) {
	pass.t.Helper()
	ctx := pass.t.Context()
	recovery, err := store.Recover(ctx, passRecoverOptions())
	require.NoError(pass.t, err)
	require.Zero(pass.t, recovery)
	carriages, err := store.ChooseOverrides(ctx, pass.overrideOptions())
	require.NoError(pass.t, err)
	require.Empty(pass.t, carriages)
	carriages, err = store.ChooseExempt(ctx, work.ExemptOptions{Governed: pass.policy.Governed(), Limit: limit, Chunk: 20})
	require.NoError(pass.t, err)
	require.Empty(pass.t, carriages)
	batch, err := store.Admit(ctx, pass.options(limit, 20))
	require.NoError(pass.t, err)
	require.Equal(pass.t, limit, batch.Chosen)
	require.Empty(pass.t, batch.Carriages)
	require.Empty(pass.t, batch.Deferred)
}

// TestPassCostFollowsWhatItFinds: with works in back-off and in flight by the ten
// thousand, what a pass does to a few of them reads those few.
func TestPassCostFollowsWhatItFinds(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	pass.exec("ALTER TABLE adjourn.work SET (autovacuum_enabled = off)")
	pass.backlog("e", 40_000)
	pass.backlog("x", 10)
	pass.exec("UPDATE adjourn.work SET not_before = now() + INTERVAL '1 h' WHERE id % 4 = 1")
	pass.exec(`UPDATE adjourn.work SET state = 'admitted', lane = 'governed', workflow_id = 'w', carried_since = now(),
		slot_start = adjourn.window_floor(now(), '24 h'), admission = 'granted', enforced = TRUE WHERE id % 4 = 2 AND flow = 'e'`)
	pass.begin(passRead[work.ID](pass, "SELECT id FROM adjourn.work WHERE state = 'admitted' AND id % 8 = 2")...)
	few := pass.submit("e", time.Minute, time.Minute, time.Minute, time.Hour, time.Hour, time.Hour)
	pass.exec("UPDATE adjourn.work SET not_before = now() WHERE id = $1", few[4])

	var sent recorder
	config := pass.pool.Config()
	config.ConnConfig.Tracer = &sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	store := New(pool)
	_, err = store.Recover(t.Context(), passRecoverOptions())
	require.NoError(t, err)
	_, err = store.ChooseOverrides(t.Context(), pass.overrideOptions())
	require.NoError(t, err)
	batch, err := store.Admit(t.Context(), pass.options(10, 10))
	require.NoError(t, err)
	require.Equal(t, 10, batch.Granted.Total())
	for _, one := range sent.sent {
		if one.text == "begin" || one.text == "begin isolation level read committed" ||
			one.text == "commit" || one.text == "rollback" {
			continue
		}
		require.Less(t, pass.explain(one).worksRead(), 100.0, one.text)
	}
}

// TestPlansKeptFromAQuietHour: plans that a connection made and kept while the
// tables were empty read no more of a backlog than new ones, whether the tables
// were ever analyzed or not.
func TestPlansKeptFromAQuietHour(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]string{"NeverAnalyzed": "SELECT 1", "AnalyzedEmpty": "VACUUM ANALYZE adjourn.work"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 100
			pass := newPass(t, 0)
			pass.exec("ALTER TABLE adjourn.work SET (autovacuum_enabled = off)")
			pass.exec(prepare)
			config := pass.pool.Config()
			config.MaxConns = 1
			config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			store := New(pool)
			everything := func() {
				_, err := store.Recover(t.Context(), passRecoverOptions())
				require.NoError(t, err)
				_, err = store.ChooseOverrides(t.Context(), pass.overrideOptions())
				require.NoError(t, err)
				_, err = store.ChooseExempt(t.Context(), work.ExemptOptions{Governed: pass.policy.Governed(), Limit: limit, Chunk: 20})
				require.NoError(t, err)
				_, err = store.Admit(t.Context(), pass.options(limit, 20))
				require.NoError(t, err)
				_, err = pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
				require.NoError(t, err)
			}
			for _, flow := range []string{"e", "o", "x"} { // one of each, so that every statement is planned
				pass.submit(flow, time.Hour)
			}
			pass.submit("e", time.Minute)
			everything()
			pass.backlog("e", 40_000)
			pass.exec("UPDATE adjourn.work SET not_before = now() + INTERVAL '1 h' WHERE id % 4 = 1 AND state = 'pending'")
			for _, flow := range []string{"o", "x"} {
				pass.submit(flow, time.Hour)
			}
			pass.submit("e", time.Minute)
			before := pass.worksReadSoFar()
			everything()
			after := before
			pass.eventually("the statistics are there", func() bool {
				after = pass.worksReadSoFar()
				return after > before
			})
			require.Less(t, after-before, 10*limit)
		})
	}
}

// worksReadSoFar is how many rows and index entries of the work table were read,
// as far as sessions have told.
func (pass *pass) worksReadSoFar() int {
	pass.t.Helper()
	pass.exec("SELECT pg_stat_force_next_flush()")
	return pass.count(`
		SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'adjourn.work'::REGCLASS)
		     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid = 'adjourn.work'::REGCLASS)::BIGINT`)
}
