package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/config"
)

// A mistyped variable stops the process and is told its nearest name; its value,
// which may be a secret, is not shown.
func TestLoadFrom_RefusesUnknownNames(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"QUOTA_CEILING":             "QUOTA_HOURLY_CEILING",
		"QUOTA_HOURLY_CIELING":      "QUOTA_HOURLY_CEILING",
		"QUOTA_ENFORCED":            "QUOTA_ENFORCE",
		"QUOTA_EXEMPT":              "QUOTA_EXEMPT_FLOWS",
		"quota_window":              "QUOTA_WINDOW",
		"QUOTA_":                    "QUOTA_WINDOW",
		"CADENCE_RATE_PER_SECOND":   "CADENCE_PER_SECOND",
		"DEADLINE_MARGIN":           "DEADLINE_OVERRIDE_MARGIN",
		"EMISSION_CHUNKS":           "EMISSION_CHUNK",
		"EMITTER_AUTHORISATION":     "EMITTER_AUTHORIZATION",
		"DISPATCH_BATCH_SIZE":       "DISPATCH_BATCH",
		"ADJOURN_SERVER_ADDRESS":    "ADJOURN_SERVER_ADDR",
		"ADJOURN_METRICS_ADDRESS":   "ADJOURN_METRICS_ADDR",
		"ADJOURN_DEADLINE_MARGIN":   "DEADLINE_OVERRIDE_MARGIN",
		"ADJOURN_TASK_QUEUE_PREFFX": "ADJOURN_TASK_QUEUE_PREFIX",
	} {
		require.Equal(t, []string{typed + ": no such setting; the nearest name is " + want},
			problems(t, typed+"=hunter2"), typed)
	}
	require.Len(t, problems(t, "EMITTER_AUTHORISATION="), 1, "an empty one is a mistake too")
	require.Empty(t, problems(t, "TEMPORAL_ADDR=x", "QUOTAS=1", "DATABASE_URI=x", "MY_QUOTA_WINDOW=x"),
		"other people's names are left alone")
}

// Kubernetes describes every service of its namespace in variables; a service of
// our name must not keep us from starting.
func TestLoadFrom_LeavesServiceLinksAlone(t *testing.T) {
	t.Parallel()
	links := []string{
		"ADJOURN_SERVER_SERVICE_HOST=10.0.0.1", "ADJOURN_SERVER_SERVICE_PORT=80", "ADJOURN_SERVER_SERVICE_PORT_HTTP=80",
		"ADJOURN_SERVER_PORT=tcp://10.0.0.1:80", "ADJOURN_SERVER_PORT_80_TCP=tcp://10.0.0.1:80",
		"ADJOURN_SERVER_PORT_80_TCP_ADDR=10.0.0.1",
	}
	require.Empty(t, problems(t, links...))
	require.Len(t, problems(t, links[1:]...), 5, "without a service they are mistakes")
	require.Len(t, problems(t, append(links, "ADJOURN_SERVER_ADDRESS=x")...), 1)
}

// Every variable lives under a prefix that is checked, so that none can be
// mistyped unnoticed; DATABASE_URL belongs to everybody.
func TestEveryNameHasACheckedPrefix(t *testing.T) {
	t.Parallel()
	loaded, err := config.LoadFrom(nil)
	require.NoError(t, err)
	for _, setting := range loaded.Describe() {
		if setting.Name == "DATABASE_URL" {
			continue
		}
		prefix, _, _ := strings.Cut(setting.Name, "_")
		require.Len(t, problems(t, prefix+"_ZZZ=1"), 1, setting.Name)
	}
}
