package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
	"github.com/adjourn/adjourn/migrations"
)

const emitted = "SELECT count(*) FROM adjourn.work_archive WHERE state = 'emitted'"

// The whole worker, on a real Temporal, Postgres and third party.
func TestWorker(t *testing.T) {
	temporal := startTemporal(t)
	for name, run := range map[string]func(*testing.T, client.Options){
		"EmitsByLaneAndCounts":         emitsByLaneAndCounts,
		"SurvivesABrokenQuota":         survivesABrokenQuota,
		"SurvivesALockedQuota":         survivesALockedQuota,
		"LetsAttemptsEndWhenItStops":   letsAttemptsEndWhenItStops,
		"ServesOnlyItsLanes":           servesOnlyItsLanes,
		"NamesTheCommandForANamespace": namesTheCommandForANamespace,
	} {
		t.Run(name, func(t *testing.T) { run(t, temporal) })
	}
}

// A17, A42, A47, A48, K06: two slots, two granted; the closing deadline and the
// acknowledgement go beside them and are counted afterwards; the rest waits.
func emitsByLaneAndCounts(t *testing.T, temporal client.Options) {
	stack := newStack(t, temporal, "lanes")
	for _, step := range stack.setUp(t) {
		require.NotEqual(t, app.Failed, step.Result, "%s: %v", step.Name, step.Err)
	}
	for range 5 {
		stack.submit(t, "invoice", "30 days")
	}
	running := stack.start(t)
	stack.eventually(t, 2, emitted)
	urgent := stack.submit(t, "invoice", "1 minute")
	stack.submit(t, "ack", "")
	stack.submit(t, "zzz", "") // unknown flows are never throttled (A57)

	stack.eventually(t, 5, emitted)
	stack.eventually(t, 3, "SELECT count(*) FROM adjourn.deferral WHERE reason = 'quota_full'")
	stack.eventually(t, 5, "SELECT coalesce(sum(count), 0) FROM adjourn.quota_window")
	stack.eventually(t, 1, "SELECT count(*) FROM adjourn.work_archive WHERE lane = 'override' AND id = $1", urgent)
	_, page := get(t, running.worker.MetricsAddr()+"/metrics")
	for _, want := range []string{
		`emission_deferred_total{flow="invoice",reason="quota_full"} 3`,
		`adjourn_emissions_total{flow="invoice",lane="governed",outcome="emitted"} 2`,
		`adjourn_overrides_total{flow="invoice"} 1`,
		`adjourn_emissions_total{flow="unknown",lane="exempt",outcome="emitted"} 1`,
		"temporal_request_total{",
		"go_goroutines ",
	} {
		require.Contains(t, page, want)
	}
	status, ready := get(t, running.worker.MetricsAddr()+"/readyz")
	require.Equal(t, 200, status, ready)
	require.NoError(t, running.stop())
	require.Equal(t, map[string]int{"governed": 2, "override": 1, "exempt": 2}, stack.arrivals(),
		"the third party's own log")
	require.NotContains(t, stack.logs.String(), "search attributes", "setup has registered them")
}

// A45, G2, G8, K04: without the quota's table an urgent work goes, an enforced
// one waits, an observed one goes.
func survivesABrokenQuota(t *testing.T, temporal client.Options) {
	stack := newStack(t, temporal, "broken")
	stack.setUp(t)
	_, err := stack.db.Exec(t.Context(), "DROP TABLE adjourn.quota_window")
	require.NoError(t, err)
	stack.submit(t, "invoice", "1 minute")
	stack.submit(t, "invoice", "30 days")
	stack.submit(t, "status", "")
	running := stack.start(t)

	stack.eventually(t, 2, emitted)
	stack.eventually(t, 1, "SELECT count(*) FROM adjourn.deferral WHERE reason = 'arbiter_unavailable'")
	require.NoError(t, running.stop())
	require.Equal(t, map[string]int{"governed": 1, "override": 1}, stack.arrivals())
	require.Contains(t, stack.logs.String(), "the arbiter could not be asked")
	require.Contains(t, stack.logs.String(), "emissions not counted in their window")
}

// The same with the table locked by someone who never lets go: nothing that
// urgent works need waits behind the arbiter's connections.
func survivesALockedQuota(t *testing.T, temporal client.Options) {
	stack := newStack(t, temporal, "locked", "QUOTA_POOL_SIZE=1", "QUOTA_LOCK_TIMEOUT=500ms")
	stack.setUp(t)
	tx, err := stack.db.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // rolled back below unless the test fails before
	_, err = tx.Exec(t.Context(), "LOCK TABLE adjourn.quota_window IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	stack.submit(t, "invoice", "30 days")
	stack.submit(t, "invoice", "1 minute")
	running := stack.start(t)
	stack.eventually(t, 1, emitted)
	require.Equal(t, map[string]int{"override": 1}, stack.arrivals())
	for _, pool := range []string{"arbiter", "override", "general"} { // none lends another its connections
		stack.eventually(t, 1, `SELECT (count(*) > 0)::INT::BIGINT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'adjourn ' || $1`, pool)
	}

	require.NoError(t, tx.Rollback(t.Context()))
	stack.eventually(t, 2, emitted) // once the arbiter answers, the other gets its slot
	require.NoError(t, running.stop())
	stack.eventually(t, 2, "SELECT sum(count) FROM adjourn.quota_window") // nothing was lost
}

// A stop burns neither slot nor attempt: what is in flight ends, is recorded and
// counted, and only then is everything closed.
func letsAttemptsEndWhenItStops(t *testing.T, temporal client.Options) {
	stack := newStack(t, temporal, "stopping")
	stack.setUp(t)
	require.NoError(t, stack.party.Behave(thirdparty.Behaviour{Latency: 2 * time.Second}))
	stack.submit(t, "invoice", "1 minute")
	running := stack.start(t)
	require.Eventually(t, func() bool { return len(stack.party.Arrivals()) == 1 }, patience, 10*time.Millisecond)

	require.NoError(t, running.stop())
	var outcome string
	var counted int64
	require.NoError(t, stack.db.QueryRow(t.Context(), "SELECT outcome FROM adjourn.work_attempt").Scan(&outcome))
	require.Equal(t, "emitted", outcome)
	require.NoError(t, stack.db.QueryRow(t.Context(), "SELECT sum(count) FROM adjourn.quota_window").Scan(&counted))
	require.EqualValues(t, 1, counted, "accounting is written before the process ends")
	require.Len(t, stack.party.Arrivals(), 1)
}

// A worker of some lanes leaves the others' works to others.
func servesOnlyItsLanes(t *testing.T, temporal client.Options) {
	stack := newStack(t, temporal, "some", "ADJOURN_LANES=dispatch,exempt", "ADJOURN_METRICS_ADDR=")
	stack.setUp(t)
	stack.submit(t, "invoice", "1 minute")
	stack.submit(t, "ack", "")
	running := stack.start(t)
	require.Empty(t, running.worker.MetricsAddr(), "set but empty is off (A01)")
	stack.eventually(t, 1, emitted)
	stack.eventually(t, 1, "SELECT count(*) FROM adjourn.work WHERE lane = 'override' AND state = 'admitted'")
	require.NoError(t, running.stop())
	require.Equal(t, map[string]int{"exempt": 1}, stack.arrivals())
}

func namesTheCommandForANamespace(t *testing.T, temporal client.Options) {
	temporal.Namespace = "missing"
	stack := newStack(t, temporal, "namespace")
	worker, err := app.NewWorker(t.Context(), stack.config, stack.dependencies())
	require.NoError(t, err)
	err = worker.Run(t.Context())
	require.ErrorContains(t, err, "run `adjourn setup`")

	results := func() (results []app.Result) {
		for _, step := range stack.setUp(t) {
			require.NotEqual(t, app.Failed, step.Result, "%s: %v", step.Name, step.Err)
			results = append(results, step.Result)
		}
		return results
	}
	require.Equal(t, []app.Result{
		app.AlreadyThere, // the payload bound
		app.AlreadyThere, // the window, which the worker decided
		app.Created, app.Created, app.Created,
	}, results())
	require.Equal(t, slices.Repeat([]app.Result{app.AlreadyThere}, 5), results())
}

func TestNewWorker_RefusesAnOldSchema(t *testing.T) {
	t.Parallel()
	stack := newStack(t, client.Options{HostPort: "127.0.0.1:1"}, "old", "DATABASE_URL="+dbtest.EmptyURL(t))
	_, err := app.NewWorker(t.Context(), stack.config, stack.dependencies())
	var schema *migrations.SchemaError
	require.ErrorAs(t, err, &schema)
	require.ErrorContains(t, err, "adjourn migrate up")
}

func TestNewWorker_SaysWhichSettingToLookAt(t *testing.T) {
	t.Parallel()
	unreachable := client.Options{HostPort: "127.0.0.1:1", Namespace: "default"}
	for want, settings := range map[string][]string{
		"connect to Temporal at 127.0.0.1:1 (TEMPORAL_ADDRESS)": nil,
		"the database does not answer (DATABASE_URL)":           {"DATABASE_URL=postgres://a:hunter2@127.0.0.1:1/x"},
	} {
		stack := newStack(t, unreachable, "unreachable", settings...)
		_, err := app.NewWorker(t.Context(), stack.config, stack.dependencies())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error()+stack.logs.String(), "hunter2")
	}
}
