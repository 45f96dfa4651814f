package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

const (
	// passPatience bounds every wait of these tests for another session.
	passPatience = time.Minute
	// passSteadyFor is what a test may take before its window ends.
	passSteadyFor = 30 * time.Second
	passMargin    = 15 * time.Minute
)

// pass is what tests of one pass share: a database, a store on it, the quota's
// register with windows of a day, and a policy.
type pass struct {
	t        testing.TB
	pool     *pgxpool.Pool
	store    *Store
	register quotapostgres.Register
	policy   quota.Policy
}

// newPass makes a database whose window does not end during the test. Flow "e" is
// enforced, "o" observed and "x" exempt.
func newPass(t testing.TB, ceiling int32) *pass {
	t.Helper()
	pool := dbtest.New(t)
	made := &pass{
		t: t, pool: pool, store: New(pool),
		register: quotapostgres.NewRegister(quotapostgres.Options{Window: quota.Day}),
		policy: quota.Policy{
			Ceiling: ceiling, Flows: map[string]bool{"e": true, "o": false}, ExemptFlows: []string{"x"},
		},
	}
	made.eventually("the day has time left", func() bool {
		usage := made.usage()
		return usage.Window.OpenFor(usage.Now, passSteadyFor)
	})
	return made
}

func (pass *pass) eventually(what string, condition func() bool) {
	pass.t.Helper()
	ctx, cancel := context.WithTimeout(pass.t.Context(), passPatience)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.Fail(pass.t, "waited in vain", "%s, for %s", what, passPatience)
		}
	}
}

func (pass *pass) exec(statement string, arguments ...any) {
	pass.t.Helper()
	_, err := pass.pool.Exec(pass.t.Context(), statement, arguments...)
	require.NoError(pass.t, err)
}

// passRead scans the one column of a query's rows.
func passRead[T any](pass *pass, query string, arguments ...any) []T {
	pass.t.Helper()
	rows, err := pass.pool.Query(pass.t.Context(), query, arguments...)
	require.NoError(pass.t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(pass.t, err)
	return values
}

func (pass *pass) count(query string, arguments ...any) int {
	pass.t.Helper()
	return passRead[int](pass, query, arguments...)[0]
}

// submit hands in one work for each deadline, from now; zero is none.
func (pass *pass) submit(flow string, deadlines ...time.Duration) []work.ID {
	pass.t.Helper()
	var ids []work.ID
	for _, deadline := range deadlines {
		ids = append(ids, passRead[work.ID](pass, `
			SELECT (adjourn.submit_work($1, 'payload',
			        CASE WHEN $2::INTERVAL <> INTERVAL '0' THEN clock_timestamp() + $2 END)).work_id`,
			flow, deadline)...)
	}
	return ids
}

// backlog hands in many works of a flow at once, due from two days on.
func (pass *pass) backlog(flow string, works int) {
	pass.t.Helper()
	pass.exec("INSERT INTO adjourn.flow (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", flow)
	pass.exec(`
		INSERT INTO adjourn.work (flow, stream, deadline, idempotency_key)
		SELECT $1, $1, CASE WHEN i % 4 > 0 THEN now() + INTERVAL '2 days' + i * INTERVAL '1 s' END,
		       gen_random_uuid()::TEXT
		  FROM generate_series(1, $2::INTEGER) AS i`, flow, works)
}

func (pass *pass) options(limit, chunk int) AdmitOptions {
	return AdmitOptions{
		AdmitOptions: work.AdmitOptions{Limit: limit, Chunk: chunk},
		Policy:       pass.policy, Register: pass.register, Margin: passMargin,
	}
}

// asking are options for these works, asked for by a workflow.
func (pass *pass) asking(workflowID string, ids ...work.ID) AdmitOptions {
	options := pass.options(len(ids), len(ids))
	options.IDs, options.WorkflowID = ids, workflowID
	return options
}

func (pass *pass) admit(options AdmitOptions) work.AdmissionBatch {
	pass.t.Helper()
	batch, err := pass.store.Admit(pass.t.Context(), options)
	require.NoError(pass.t, err)
	return batch
}

func (pass *pass) usage() quota.Usage {
	pass.t.Helper()
	usage, err := pass.register.Usage(pass.t.Context(), pass.pool)
	require.NoError(pass.t, err)
	return usage
}

func (pass *pass) overrideOptions() work.OverrideOptions {
	return work.OverrideOptions{
		Flows: pass.policy.Governed(), Margin: passMargin, RestartAfter: time.Minute, Limit: 100,
	}
}

func (pass *pass) overrides() []work.Carriage {
	pass.t.Helper()
	carriages, err := pass.store.ChooseOverrides(pass.t.Context(), pass.overrideOptions())
	require.NoError(pass.t, err)
	return carriages
}

func (pass *pass) exempt(chunk int) []work.Carriage {
	pass.t.Helper()
	carriages, err := pass.store.ChooseExempt(pass.t.Context(),
		work.ExemptOptions{Governed: pass.policy.Governed(), Limit: 100, Chunk: chunk})
	require.NoError(pass.t, err)
	return carriages
}

// begin makes an admitted work attempting, as its lane would.
func (pass *pass) begin(ids ...work.ID) {
	pass.t.Helper()
	pass.exec(`
		UPDATE adjourn.work SET state = 'attempting', number = id, attempts = attempts + 1,
		       attempt_begun_at = clock_timestamp(),
		       attempt_expires_at = clock_timestamp() + INTERVAL '1 min'
		 WHERE id = ANY($1) AND state = 'admitted'`, ids)
}

// rows are works as they are stored, down to the version of each row.
func (pass *pass) rows(ids ...work.ID) []string {
	pass.t.Helper()
	return passRead[string](pass,
		"SELECT ctid || ' ' || xmin || ' ' || w::TEXT FROM adjourn.work AS w WHERE id = ANY($1) ORDER BY id", ids)
}

// state is a work's state, lane and workflow.
func (pass *pass) state(id work.ID) string {
	pass.t.Helper()
	return passRead[string](pass,
		"SELECT concat_ws(' ', state, lane, workflow_id) FROM adjourn.work WHERE id = $1", id)[0]
}

// figures are the figures by "flow decision reason".
func (pass *pass) figures() map[string]int64 {
	pass.t.Helper()
	figures, err := pass.register.Figures(pass.t.Context(), pass.pool, time.Time{}, 1000)
	require.NoError(pass.t, err)
	counts := map[string]int64{}
	for _, figure := range figures {
		name := figure.Flow + " " + figure.Decision
		if figure.Reason != "" {
			name += " " + figure.Reason
		}
		counts[name] += figure.Count
	}
	return counts
}

// carried are the ids of carriages, in their order.
func carried(carriages []work.Carriage) []work.ID {
	ids := []work.ID{}
	for _, carriage := range carriages {
		for _, ref := range carriage.Works {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// workflowIDs of carriages, in their order.
func workflowIDs(carriages []work.Carriage) []string {
	var ids []string
	for _, carriage := range carriages {
		ids = append(ids, carriage.WorkflowID)
	}
	return ids
}

// admitter answers from another pool when the one on pool is in error, and tells
// its errors to the returned list.
func (pass *pass) admitter(arbiter *pgxpool.Pool) (*Admitter, *failures) {
	told := &failures{}
	return &Admitter{
		Store: pass.store, Arbiter: New(arbiter), Register: pass.register,
		Policy: func(context.Context) (quota.Policy, error) { return pass.policy, nil },
		Margin: passMargin, Failed: told.add,
	}, told
}

// arbiterPool is a pool as the arbiter has one, which gives up soon.
func (pass *pass) arbiterPool(change func(*pgxpool.Config)) *pgxpool.Pool {
	pass.t.Helper()
	config := pass.pool.Config()
	quotapostgres.ConfigurePool(config, 100*time.Millisecond, 5*time.Second)
	if change != nil {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(pass.t.Context(), config)
	require.NoError(pass.t, err)
	pass.t.Cleanup(pool.Close)
	return pool
}

type failures struct {
	mutex sync.Mutex
	all   []error
}

func (failures *failures) add(err error) {
	failures.mutex.Lock()
	defer failures.mutex.Unlock()
	failures.all = append(failures.all, err)
}

func (failures *failures) list() []error {
	failures.mutex.Lock()
	defer failures.mutex.Unlock()
	return failures.all
}
