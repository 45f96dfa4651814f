package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/work"
)

// A02, K06: the window, its ceiling, and every kind of emission apart.
func TestQuotaShow(t *testing.T) {
	url := newDatabase(t, "QUOTA_HOURLY_CEILING=1000", "QUOTA_ENFORCE=invoice:true,status:false", "QUOTA_EXEMPT_FLOWS=ack")
	execute(t, url, `INSERT INTO adjourn.quota_window (window_start, count)
		VALUES (adjourn.window_floor(clock_timestamp(), '1h'), 1003)`)
	execute(t, url, `INSERT INTO adjourn.quota_figure (window_start, flow, decision, reason, count)
		SELECT adjourn.window_floor(clock_timestamp(), '1h'), flow, decision, reason, count
		  FROM (VALUES ('invoice', 'granted', '', 990), ('invoice', 'deferred', 'quota_full', 7),
		               ('invoice', 'deferred', 'cadence', 1), ('invoice', 'overridden', '', 2),
		               ('status', 'would_defer', '', 3), ('ack', 'exempt', '', 7), ('zzz', 'exempt', '', 1))
		       AS figure (flow, decision, reason, count)`)
	view := decode[quotaView](t, adjourn(t, "quota", "show", "--output", "json"))
	require.Equal(t, 1003, view.Used)
	require.EqualValues(t, 1000, view.Ceiling)
	require.Zero(t, view.Remaining)
	require.Equal(t, time.Hour, view.WindowEnd.Sub(view.WindowStart))
	require.InDelta(t, 1800, view.ResetsIn, 1800)
	require.Zero(t, view.HeldUntil)
	require.Equal(t, []flowFigures{
		{Flow: "ack", Treatment: "exempt", Exempt: 7},
		{
			Flow: "invoice", Treatment: "enforce", Granted: 990, Deferred: 8,
			DeferredBy: map[string]int64{"quota_full": 7, "cadence": 1}, Overridden: 2,
		},
		{Flow: "status", Treatment: "observe", WouldDefer: 3},
		{Flow: "zzz", Treatment: "exempt", Exempt: 1},
	}, view.Flows)

	execute(t, url, "INSERT INTO adjourn.quota_hold (held_until) VALUES (clock_timestamp() + INTERVAL '5 min')")
	text := adjourn(t, "quota", "show").stdout
	require.Regexp(t, `used +1003\nceiling +1000\nremaining +0\nheld until +20`, text)
	require.Regexp(t, `invoice +enforce +990 +8 +0 +2 +0`, text)
}

func TestQuotaShow_WithoutCeiling(t *testing.T) {
	newDatabase(t, "QUOTA_ENFORCE=invoice:false")
	require.Contains(t, adjourn(t, "quota", "show").stdout, "not set (QUOTA_HOURLY_CEILING)")
	view := decode[quotaView](t, adjourn(t, "quota", "show", "--output", "json"))
	require.False(t, view.CeilingSet)
}

// A50, A52: on a fresh database nothing is enforced; every flow that was named is
// listed.
func TestFlowList(t *testing.T) {
	newDatabase(t, "QUOTA_ENFORCE=invoice:true,status:false", "QUOTA_HOURLY_CEILING=1", "QUOTA_EXEMPT_FLOWS=ack")
	for _, flow := range []string{"invoice", "invoice", "zzz"} {
		require.Equal(t, statusOK, adjourn(t, "work", "submit", "--flow", flow, "--payload", "x").status)
	}
	views := decode[[]flowView](t, adjourn(t, "flow", "list", "--output", "json"))
	require.Equal(t, []flowView{
		{Flow: "ack", Treatment: "exempt", Known: true, Works: map[work.State]int64{}},
		{Flow: "invoice", Treatment: "enforce", Known: true, Works: map[work.State]int64{work.Pending: 2}},
		{Flow: "status", Treatment: "observe", Known: true, Works: map[work.State]int64{}},
		{Flow: "zzz", Treatment: "exempt", Works: map[work.State]int64{work.Pending: 1}},
	}, views)
	require.Regexp(t, `zzz +exempt \(not named\) +1 +0`, adjourn(t, "flow", "list").stdout)
	require.Contains(t, adjourn(t, "__complete", "work", "list", "--flow", "").stdout, "ack\ninvoice\nstatus\nzzz\n")
}

// Every command that needs the schema names the command to run.
func TestCommands_OnAnOldSchema(t *testing.T) {
	environment(t, "DATABASE_URL="+dbtest.EmptyURL(t), "EMITTER_URL=http://127.0.0.1:1/works")
	for _, arguments := range [][]string{
		{"work", "list"},
		{"work", "show", "1"},
		{"work", "submit", "--flow", "a", "--payload", "x"},
		{"work", "cancel", "1"},
		{"quota", "show"},
		{"flow", "list"},
		{"setup"},
		{"worker"},
	} {
		got := adjourn(t, arguments...)
		require.Equal(t, statusFailed, got.status, "%v: %s", arguments, got.stderr)
		require.Contains(t, got.stderr, "run `adjourn migrate up`", "%v", arguments)
	}
}

// Every command that prints data prints it as JSON too.
func TestCommands_OfferJSON(t *testing.T) {
	newDatabase(t)
	for _, arguments := range [][]string{
		{"work", "list"}, {"quota", "show"}, {"flow", "list"}, {"config"}, {"version"}, {"migrate", "status"},
	} {
		got := adjourn(t, append(arguments, "--output", "json")...)
		require.Equal(t, statusOK, got.status, got.stderr)
		require.True(t, json.Valid([]byte(got.stdout)), "%v", arguments)
	}
}
