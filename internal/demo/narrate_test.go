package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
)

// TestNarrator tells each growth once, window by window, the decisions in a
// fixed order and their flows together.
func TestNarrator(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	figure := func(flow, decision, reason string, count int64) quotapostgres.Figure {
		return quotapostgres.Figure{
			WindowStart: start, Flow: flow, Decision: decision, Reason: reason, Count: count,
		}
	}
	var out strings.Builder
	narrator := newNarrator(&out)
	now := start.Add(3 * time.Second)

	narrator.tell(now, 20*time.Second, []quotapostgres.Figure{
		figure("status", "granted", "", 4),
		figure("invoice", "granted", "", 96),
		figure("invoice", "deferred", "quota_full", 137),
		figure("ack", "exempt", "", 83),
	})
	require.Equal(t, ""+
		"10:00:03    granted       100  earliest deadlines first, a slot each (invoice 96, status 4)\n"+
		"10:00:03    deferred      137  quota_full, pending as before, next chance at 10:00:20 (invoice 137)\n"+
		"10:00:03    exempt         83  never throttled: counted afterwards (ack 83)\n", out.String())

	out.Reset()
	narrator.tell(now, 20*time.Second, []quotapostgres.Figure{
		figure("invoice", "granted", "", 96),
		figure("invoice", "overridden", "", 2),
	})
	require.Equal(t, "10:00:03    overridden      2  "+
		"deadline closing: left past the quota, counted afterwards (invoice 2)\n", out.String())
}
