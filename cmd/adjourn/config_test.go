package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/config"
)

// A51: the ceiling comes from the environment, and config shows it.
func TestConfig_PrintsEverySettingAndNoSecret(t *testing.T) {
	environment(t, "QUOTA_HOURLY_CEILING=7", "DATABASE_URL=postgres://me:hunter2@db/app",
		"EMITTER_AUTHORIZATION=Bearer hunter3")
	got := adjourn(t, "config")
	require.Equal(t, statusOK, got.status, got.stderr)
	require.Regexp(t, `QUOTA_HOURLY_CEILING +7 +environment`, got.stdout)
	require.Regexp(t, `DEADLINE_OVERRIDE_MARGIN +15m +default +15m`, got.stdout)
	require.Contains(t, got.stdout, "postgres://me:")
	require.NotContains(t, got.stdout, "hunter")

	settings := decode[[]config.Setting](t, adjourn(t, "config", "--output", "json"))
	require.Greater(t, len(settings), 40)
	require.NotContains(t, adjourn(t, "config", "--output", "json").stdout, "hunter")
}

// G7: what cannot be parsed stops the process, naming variable, value and what is
// accepted; config itself still shows the rest.
func TestConfig_SaysEverythingThatIsWrong(t *testing.T) {
	environment(t, "QUOTA_HOURLY_CEILING=many", "QUOTA_ENFORCE=invoice:yes", "QUOTA_CEILLING=5")
	for _, arguments := range [][]string{{"config"}, {"migrate", "status"}} {
		got := adjourn(t, arguments...)
		require.Equal(t, statusUsage, got.status)
		for _, want := range []string{`QUOTA_HOURLY_CEILING "many"`, "QUOTA_ENFORCE", "QUOTA_CEILLING", "accepted"} {
			require.Contains(t, got.stderr, want)
		}
	}
	require.Contains(t, adjourn(t, "config").stdout, "QUOTA_WINDOW")
}
