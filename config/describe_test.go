package config_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kelseyhightower/envconfig"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/config"
)

var update = flag.Bool("update", false, "write the settings into docs/configuration.md")

func TestDescribe_TellsValueDefaultOriginAndMeaning(t *testing.T) {
	t.Parallel()
	loaded, err := config.LoadFrom([]string{
		"QUOTA_HOURLY_CEILING=7", "DISPATCH_BATCH=1000", "ADJOURN_CACHE=/a\x1b[2J",
		"DATABASE_URL=postgres://u:p@h/d", "EMITTER_AUTHORIZATION=x",
	})
	require.NoError(t, err)
	settings := map[string]config.Setting{}
	for _, setting := range loaded.Describe() {
		require.NotContains(t, settings, setting.Name, "named once")
		require.NotEmpty(t, setting.Meaning, setting.Name)
		require.NotEmpty(t, setting.Accepted, setting.Name)
		require.NotEmpty(t, setting.Section, setting.Name)
		settings[setting.Name] = setting
	}
	for name, want := range map[string][3]string{
		"QUOTA_HOURLY_CEILING":  {"7", "", "environment"}, // A51
		"QUOTA_WINDOW":          {"1h", "1h", "default"},
		"DISPATCH_BATCH":        {"1000", "1000", "environment"},
		"QUOTA_ENFORCE":         {"", "", "default"},
		"ADJOURN_CACHE":         {`"/a\x1b[2J"`, "", "environment"},
		"DATABASE_URL":          {"postgres://u:[redacted]@h/d", "", "environment"},
		"EMITTER_AUTHORIZATION": {"[redacted]", "", "environment"},
		"EMITTER_URL":           {"", "", "default"},
	} {
		setting := settings[name]
		require.Equal(t, want, [3]string{setting.Value, setting.Default, string(setting.Origin)}, name)
	}
	loaded.Describe()[0].Name = "changed"
	require.Equal(t, "DATABASE_URL", loaded.Describe()[0].Name, "callers get their own copy")
	require.Empty(t, config.Config{}.Describe())
}

// A configuration that is refused can still be looked at.
func TestDescribe_WorksBesideAnError(t *testing.T) {
	t.Parallel()
	nothing, err := config.LoadFrom(nil)
	require.NoError(t, err)
	refused, err := config.LoadFrom([]string{"QUOTA_HOURLY_CEILING=1e3"})
	require.Error(t, err)
	require.Len(t, refused.Describe(), len(nothing.Describe()))
}

// Each default is itself accepted when it is written out, and each bound is one
// that its type can read: a typo in a tag would show here.
func TestDefaultsAreAccepted(t *testing.T) {
	t.Parallel()
	nothing, err := config.LoadFrom(nil)
	require.NoError(t, err)
	var environ []string
	for _, setting := range nothing.Describe() {
		if setting.Default != "" {
			environ = append(environ, setting.Name+"="+setting.Default)
		}
	}
	require.Empty(t, problems(t, environ...))
}

// The struct's tags are envconfig's own: its reader comes to the same values.
// Not parallel, because that reader sees nothing but this process's environment.
func TestTagsAreEnvconfigs(t *testing.T) {
	environ := []string{
		"QUOTA_WINDOW=20s", "QUOTA_HOURLY_CEILING=-1", "QUOTA_ENFORCE=invoice:true,status:f", "QUOTA_EXEMPT_FLOWS=ack",
		"QUOTA_UNDATED_SHARE=0.5", "EMISSION_EXEMPT_RETRY=ack:none", "EMITTER_AUTHORIZATION=Bearer x",
		"EMITTER_TLS_SERVER_NAME=h", "EMITTER_RESPONSE_BYTES_MAX=9", "DATABASE_URL=postgres://h/d", "ADJOURN_LANES=override",
	}
	ours, err := config.LoadFrom(environ)
	require.NoError(t, err)
	for _, setting := range ours.Describe() {
		t.Setenv(setting.Name, "") // so that the variable is restored afterwards
		require.NoError(t, os.Unsetenv(setting.Name))
	}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	var theirs config.Config
	require.NoError(t, envconfig.Process("", &theirs))
	loaded, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, ours, loaded, "Load reads this process's environment")
	for name, sections := range map[string][2]any{
		"Database": {ours.Database, theirs.Database}, "Quota": {ours.Quota, theirs.Quota},
		"Cadence": {ours.Cadence, theirs.Cadence}, "Deadline": {ours.Deadline, theirs.Deadline},
		"Emission": {ours.Emission, theirs.Emission}, "Emitter": {ours.Emitter, theirs.Emitter},
		"Dispatch": {ours.Dispatch, theirs.Dispatch}, "Worker": {ours.Worker, theirs.Worker},
		"Works": {ours.Works, theirs.Works}, "Server": {ours.Server, theirs.Server}, "Log": {ours.Log, theirs.Log},
		"Cache": {ours.Cache, theirs.Cache},
	} {
		require.Equal(t, sections[0], sections[1], name)
	}
}

const (
	document   = "../docs/configuration.md"
	tableBegin = "<!-- settings: written by go test ./config -run Document -update -->\n"
	tableEnd   = "<!-- end of settings -->\n"
)

// The document's tables are what the program says of itself; -update writes them.
func TestDocument(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(written), tableBegin)
	require.True(t, found, "%s has no %q", document, tableBegin)
	_, after, found := strings.Cut(rest, tableEnd)
	require.True(t, found, "%s has no %q", document, tableEnd)
	loaded, err := config.LoadFrom(nil)
	require.NoError(t, err)
	want := before + tableBegin + settingsTables(loaded.Describe()) + tableEnd + after
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(written), "stale: run go test ./config -run Document -update")
}

func settingsTables(settings []config.Setting) string {
	var tables strings.Builder
	section := ""
	for _, setting := range settings {
		if setting.Section != section {
			section = setting.Section
			fmt.Fprintf(&tables, "\n### %s\n\n| variable | default | accepted | meaning |\n|---|---|---|---|\n", section)
		}
		preset := "–"
		if setting.Default != "" {
			preset = "`" + setting.Default + "`"
		}
		fmt.Fprintf(&tables, "| `%s` | %s | %s | %s |\n", setting.Name, preset, cell(setting.Accepted), cell(setting.Meaning))
	}
	return tables.String() + "\n"
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "_", `\_`, "<", "&lt;").Replace(text)
}
