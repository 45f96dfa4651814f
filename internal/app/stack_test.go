package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience bounds every wait: a liveness bound, no assertion on speed.
const patience = 60 * time.Second

// startTemporal runs a development server for one test and its subtests.
func startTemporal(t *testing.T) client.Options {
	t.Helper()
	server, err := devstack.StartTemporal(t.Context(), devstack.TemporalOptions{Progress: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	return client.Options{HostPort: server.HostPort, Namespace: server.Namespace}
}

// stacks counts the platforms of this run.
var stacks atomic.Int64

// stack is a platform of its own: database, third party, task queues.
type stack struct {
	temporal client.Options
	party    *thirdparty.ThirdParty
	db       *pgxpool.Pool
	url      string
	config   config.Config
	logs     *logs
	logger   *zap.Logger
}

// logs collects what a process says.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (logs *logs) Write(line []byte) (int, error) {
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return logs.text.Write(line)
}

func (logs *logs) String() string {
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return logs.text.String()
}

func newStack(t *testing.T, temporal client.Options, prefix string, settings ...string) *stack {
	t.Helper()
	party, err := thirdparty.Start(thirdparty.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, party.Stop(context.WithoutCancel(t.Context()))) })
	url := dbtest.URL(t)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	// Workflow ids are made of work ids: platforms that share a namespace must not
	// share those.
	_, err = db.Exec(t.Context(), fmt.Sprintf(
		"ALTER TABLE IF EXISTS adjourn.work ALTER COLUMN id RESTART WITH %d", 1000*stacks.Add(1)))
	require.NoError(t, err)
	cfg, err := config.LoadFrom(append([]string{
		"DATABASE_URL=" + url, "EMITTER_URL=" + party.URL + "/works", "ADJOURN_TASK_QUEUE_PREFIX=" + prefix,
		"QUOTA_ENFORCE=invoice:true,status:false", "QUOTA_EXEMPT_FLOWS=ack", "QUOTA_HOURLY_CEILING=2",
		"QUOTA_WINDOW=24h", // no test meets a window's end but at midnight
		"DISPATCH_INTERVAL=1s", "DISPATCH_JITTER=0s", "EMISSION_TIMEOUT=10s", "ADJOURN_WORKER_STOP_TIMEOUT=20s",
		"ADJOURN_METRICS_ADDR=127.0.0.1:0", "ADJOURN_SERVER_ADDR=127.0.0.1:0",
	}, settings...))
	require.NoError(t, err)
	logs := &logs{}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(logs), zap.InfoLevel)
	stack := &stack{
		temporal: temporal, party: party, db: db, url: url, config: cfg, logs: logs, logger: zap.New(core),
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(logs.String())
		}
	})
	return stack
}

func (stack *stack) dependencies() app.Dependencies {
	return app.Dependencies{Logger: stack.logger, Temporal: stack.temporal}
}

func (stack *stack) setUp(t *testing.T) []app.Step {
	t.Helper()
	temporal, err := app.DialTemporal(t.Context(), stack.temporal)
	require.NoError(t, err)
	defer temporal.Close()
	return app.Setup(t.Context(), stack.db, temporal, app.SetupOptions{
		PayloadBytesMax: stack.config.Works.PayloadBytesMax, Window: stack.config.Quota.Window,
		Namespace: stack.temporal.Namespace, Schedule: app.Schedule(stack.config),
	})
}

// running is a worker on its way; stop ends it and returns what Run returned.
type running struct {
	worker *app.Worker
	stop   func() error
}

func (stack *stack) start(t *testing.T) running {
	t.Helper()
	worker, err := app.NewWorker(t.Context(), stack.config, stack.dependencies())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	var once sync.Once
	var result error
	stop := func() error {
		once.Do(func() {
			cancel()
			result = <-ended
		})
		return result
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return running{worker: worker, stop: stop}
}

// submit hands in one work; an empty deadline is none.
func (stack *stack) submit(t *testing.T, flow, deadline string) (id int64) {
	t.Helper()
	require.NoError(t, stack.db.QueryRow(t.Context(),
		`SELECT work_id FROM adjourn.submit_work(flow => $1, payload => '\x7b7d',
			deadline => CASE WHEN $2 = '' THEN NULL ELSE clock_timestamp() + $2::INTERVAL END)`,
		flow, deadline).Scan(&id))
	return id
}

// eventually reads a number from the database until it is the wanted one.
func (stack *stack) eventually(t *testing.T, want int64, sql string, arguments ...any) {
	t.Helper()
	var got int64
	for deadline := time.Now().Add(patience); ; {
		require.NoError(t, stack.db.QueryRow(t.Context(), sql, arguments...).Scan(&got))
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(t, want, got, "%s\n%s", sql, stack.works(t))
		}
		<-time.After(50 * time.Millisecond)
	}
}

// works tells where all works are, for a test that fails.
func (stack *stack) works(t *testing.T) string {
	t.Helper()
	var text string
	require.NoError(t, stack.db.QueryRow(t.Context(), `SELECT coalesce(string_agg(concat_ws(' ',
		id, flow, state, lane, workflow_id, attempts, outcome, reason, detail), E'\n'), '')
		FROM adjourn.work_all`).Scan(&text))
	return text
}

// arrivals counts what the third party saw, by lane.
func (stack *stack) arrivals() map[string]int {
	lanes := map[string]int{}
	for _, arrival := range stack.party.Arrivals() {
		lanes[arrival.Lane]++
	}
	return lanes
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}
