package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
)

// runAsCommand makes this test binary behave as the command itself, for tests
// that need a process of its own: signals, exit statuses.
const runAsCommand = "TEST_RUN_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) != "" {
		os.Exit(mainStatus())
	}
	dbtest.Main(m)
}

// outcome is what one run of the command left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

// adjourn runs the command line in this process.
func adjourn(t *testing.T, arguments ...string) outcome {
	t.Helper()
	return adjournWith(t, "", arguments...)
}

func adjournWith(t *testing.T, stdin string, arguments ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := &program{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr}
	status := program.run(t.Context(), arguments)
	return outcome{status: status, stdout: stdout.String(), stderr: stderr.String()}
}

// environment replaces the settings of this process for one test.
func environment(t *testing.T, settings ...string) {
	t.Helper()
	for _, line := range os.Environ() {
		name, _, _ := strings.Cut(line, "=")
		for _, prefix := range []string{
			"QUOTA_", "CADENCE_", "DEADLINE_", "EMISSION_", "EMITTER_", "DISPATCH_", "ADJOURN_", "DATABASE_", "TEMPORAL_", "PG",
		} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // restores it when the test ends
				require.NoError(t, os.Unsetenv(name))
			}
		}
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
}

// decode reads a command's JSON output; nothing may stand beside it.
func decode[T any](t *testing.T, outcome outcome) T {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(outcome.stdout))
	decoder.DisallowUnknownFields()
	var value T
	require.NoError(t, decoder.Decode(&value), "stdout: %s\nstderr: %s", outcome.stdout, outcome.stderr)
	require.False(t, decoder.More())
	return value
}

func TestUsage_IsStatusTwoAndSaysWhatIsAccepted(t *testing.T) {
	tests := map[string]struct {
		arguments []string
		want      string
	}{
		"no command":        {nil, "a command is missing"},
		"unknown command":   {[]string{"verzion"}, `unknown command "verzion" for "adjourn": did you mean version?`},
		"unknown flag":      {[]string{"version", "--outptu"}, "unknown flag: --outptu"},
		"unknown format":    {[]string{"version", "--output", "xml"}, "accepted are table and json"},
		"too many":          {[]string{"version", "now"}, `unknown command "now" for "adjourn version"`},
		"hostile arguments": {[]string{"\x1b[2J\n"}, `unknown command`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := adjourn(t, test.arguments...)
			require.Equal(t, statusUsage, got.status)
			require.Contains(t, got.stderr, test.want)
			require.Contains(t, got.stderr, "--help")
			require.NotContains(t, got.stderr, "\x1b")
			require.Empty(t, got.stdout, "complaints go to stderr")
		})
	}
}

func TestHelp_IsAResult(t *testing.T) {
	for _, arguments := range [][]string{{"--help"}, {"help"}, {"version", "--help"}} {
		got := adjourn(t, arguments...)
		require.Equal(t, statusOK, got.status)
		require.Contains(t, got.stdout, "Usage:")
		require.Empty(t, got.stderr)
	}
}

func TestVersion(t *testing.T) {
	info := decode[versionInfo](t, adjourn(t, "version", "--output", "json"))
	require.NotEmpty(t, info.Version)
	require.True(t, strings.HasPrefix(info.Go, "go1."))
	require.Contains(t, adjourn(t, "version").stdout, info.Version)
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := adjourn(t, "completion", shell)
		require.Equal(t, statusOK, got.status)
		require.Contains(t, got.stdout, "adjourn")
	}
	require.Contains(t, adjourn(t, "__complete", "version", "--output", "").stdout, "json\n")
}
