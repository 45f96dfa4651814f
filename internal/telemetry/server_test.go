package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/quota"
)

// serve runs a server until the test ends and returns its base address.
func serve(t *testing.T, registry *prometheus.Registry, checks ...telemetry.Check) string {
	t.Helper()
	server, err := telemetry.Listen(t.Context(), "127.0.0.1:0",
		telemetry.NewHandler(registry, checks, zap.NewNop()), zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.WithoutCancel(t.Context()))) })
	return "http://" + server.Addr()
}

func get(t *testing.T, address string) (status int, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	body, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, body
}

func TestReadiness_NamesEveryCheck(t *testing.T) {
	t.Parallel()
	base := serve(t, prometheus.NewRegistry(),
		telemetry.Check{Name: "database", Timeout: time.Second, Run: func(context.Context) error { return nil }},
		telemetry.Check{Name: "schema", Timeout: time.Second, Run: func(context.Context) error {
			return errors.New("too old")
		}},
		telemetry.Check{Name: "temporal", Timeout: 10 * time.Millisecond, Run: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})

	status, body := get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	var answer telemetry.Readiness
	require.NoError(t, json.Unmarshal(body, &answer))
	require.False(t, answer.Ready)
	require.Equal(t, []string{"database", "schema", "temporal"},
		[]string{answer.Checks[0].Name, answer.Checks[1].Name, answer.Checks[2].Name})
	require.True(t, answer.Checks[0].OK)
	require.Equal(t, "too old", answer.Checks[1].Error)
	require.Contains(t, answer.Checks[2].Error, "no answer within 10ms")

	status, _ = get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status, "the process is up although it is not ready")
}

// A crowd of probes costs the database what one costs.
func TestReadiness_SimultaneousRequestsShareOneRun(t *testing.T) {
	t.Parallel()
	var entered, running, most, refused atomic.Int32
	release := make(chan struct{})
	handler := telemetry.NewHandler(prometheus.NewRegistry(), []telemetry.Check{{
		Name: "database", Timeout: 30 * time.Second, Run: func(ctx context.Context) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}}, zap.NewNop())
	counted := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		entered.Add(1)
		handler.ServeHTTP(writer, request)
	})
	server, err := telemetry.Listen(t.Context(), "127.0.0.1:0", counted, zap.NewNop())
	require.NoError(t, err)

	var probes sync.WaitGroup
	for range 20 {
		probes.Go(func() {
			if status, _ := get(t, "http://"+server.Addr()+"/readyz"); status != http.StatusOK {
				refused.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return entered.Load() == 20 && running.Load() > 0 },
		10*time.Second, time.Millisecond)
	close(release)
	probes.Wait()
	require.EqualValues(t, 1, most.Load(), "runs at once")
	require.Zero(t, refused.Load())
	require.NoError(t, server.Close(context.WithoutCancel(t.Context())))
}

// Requests under way end before the server does; new ones are refused.
func TestServer_CloseWaitsForRequests(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	server, err := telemetry.Listen(t.Context(), "127.0.0.1:0", http.HandlerFunc(
		func(writer http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-release
			writer.WriteHeader(http.StatusTeapot)
		}), zap.NewNop())
	require.NoError(t, err)
	statuses := make(chan int, 1)
	go func() {
		status, _ := get(t, "http://"+server.Addr())
		statuses <- status
	}()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- server.Close(context.WithoutCancel(t.Context())) }()
	close(release)
	require.NoError(t, <-closed)
	require.Equal(t, http.StatusTeapot, <-statuses)
}

func TestListen_SaysWhichAddressIsTaken(t *testing.T) {
	t.Parallel()
	server, err := telemetry.Listen(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), zap.NewNop())
	require.NoError(t, err)
	_, err = telemetry.Listen(t.Context(), server.Addr(), http.NotFoundHandler(), zap.NewNop())
	require.ErrorContains(t, err, server.Addr())
	require.NoError(t, server.Close(context.WithoutCancel(t.Context())))
}

type register struct {
	usage      quota.Usage
	usageErr   error
	waiting    []telemetry.Waiting
	waitingErr error
}

func (register register) Usage(context.Context) (quota.Usage, error) {
	return register.usage, register.usageErr
}

func (register register) Waiting(context.Context) ([]telemetry.Waiting, error) {
	return register.waiting, register.waitingErr
}

func page(t *testing.T, register telemetry.Register) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewRegisterCollector(
		register, func() int32 { return 10 }, []string{"invoice", "status"}, zap.NewNop()))
	status, body := get(t, serve(t, registry)+"/metrics")
	require.Equal(t, http.StatusOK, status)
	return string(body)
}

func TestRegisterCollector_ShowsThePlatform(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	text := page(t, register{
		usage: quota.Usage{Count: 25, Now: now, HeldUntil: now.Add(90 * time.Second)},
		waiting: []telemetry.Waiting{
			{Flow: "invoice", Works: 7, Oldest: time.Minute},
			{Flow: "zzz", Works: 1, Oldest: time.Second},
			{Flow: "yyy", Works: 2, Oldest: time.Hour},
		},
	})
	for _, want := range []string{
		"adjourn_quota_window_used 25\n",
		"adjourn_quota_window_ceiling 10\n",
		"adjourn_quota_window_remaining 0\n",
		"adjourn_quota_hold_seconds 90\n",
		`adjourn_work_waiting{flow="invoice"} 7` + "\n",
		`adjourn_work_waiting{flow="status"} 0` + "\n",
		`adjourn_work_waiting{flow="unknown"} 3` + "\n",
		`adjourn_work_oldest_waiting_seconds{flow="unknown"} 3600` + "\n",
		"adjourn_register_readable 1\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "zzz", "labels are bounded")
}

// A broken quota table hides neither the backlog nor the rest of the page.
func TestRegisterCollector_LeavesOutWhatItCannotRead(t *testing.T) {
	t.Parallel()
	text := page(t, register{
		usageErr: errors.New("relation does not exist"),
		waiting:  []telemetry.Waiting{{Flow: "invoice", Works: 7}},
	})
	require.NotContains(t, text, "adjourn_quota_window_used ")
	require.Contains(t, text, "adjourn_quota_window_ceiling 10\n")
	require.Contains(t, text, `adjourn_work_waiting{flow="invoice"} 7`)
	require.Contains(t, text, "adjourn_register_readable 0\n")

	text = page(t, register{waitingErr: errors.New("time-out")})
	require.Contains(t, text, "adjourn_quota_window_used 0\n")
	require.NotContains(t, text, "adjourn_work_waiting{")
	require.Contains(t, text, "adjourn_register_readable 0\n")
}
