package app_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/telemetry"
)

// The server is up while Temporal is away, and says so; the figures come from
// the database.
func TestServer_ShowsWhatItCan(t *testing.T) {
	t.Parallel()
	stack := newStack(t, client.Options{HostPort: "127.0.0.1:1", Namespace: "default"}, "server")
	for range 3 {
		stack.submit(t, "invoice", "")
	}
	stack.submit(t, "zzz", "")
	_, err := stack.db.Exec(t.Context(), `INSERT INTO adjourn.quota_window (window_start, count)
		VALUES (adjourn.window_floor(clock_timestamp(), '24h'), 25)`)
	require.NoError(t, err)
	server, err := app.NewServer(t.Context(), stack.config, stack.dependencies())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	status, body := get(t, server.Addr()+"/readyz")
	require.Equal(t, 503, status)
	var answer telemetry.Readiness
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	require.True(t, answer.Checks[0].OK, body)
	require.True(t, answer.Checks[1].OK, body)
	require.Equal(t, "temporal", answer.Checks[2].Name)
	require.False(t, answer.Checks[2].OK)
	status, _ = get(t, server.Addr()+"/healthz")
	require.Equal(t, 200, status)

	_, page := get(t, server.Addr()+"/metrics")
	for _, want := range []string{
		"adjourn_quota_window_used 25\n", "adjourn_quota_window_ceiling 2\n", "adjourn_quota_window_remaining 0\n",
		`adjourn_work_waiting{flow="invoice"} 3`, `adjourn_work_waiting{flow="status"} 0`,
		`adjourn_work_waiting{flow="unknown"} 1`, "adjourn_register_readable 1\n",
	} {
		require.Contains(t, page, want)
	}

	// A broken quota hides neither the backlog nor the page.
	_, err = stack.db.Exec(t.Context(), "DROP TABLE adjourn.quota_window")
	require.NoError(t, err)
	_, page = get(t, server.Addr()+"/metrics")
	require.Contains(t, page, `adjourn_work_waiting{flow="invoice"} 3`)
	require.Contains(t, page, "adjourn_register_readable 0\n")

	cancel()
	require.NoError(t, <-ended)
}
