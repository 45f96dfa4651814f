package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/adjourn/adjourn/config"
)

// No way of printing a configuration shows a secret.
func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	loaded, err := config.LoadFrom([]string{
		"DATABASE_URL=postgres://adjourn:hunter2@db/app?sslmode=disable&password=hunter2",
		"EMITTER_URL=https://h/works?key=hunter2", "EMITTER_AUTHORIZATION=Bearer hunter2",
	})
	require.NoError(t, err)
	printed := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		printed[verb] = fmt.Sprintf(verb, loaded) + fmt.Sprintf(verb, loaded.Emitter.Authorization) +
			fmt.Sprintf(verb, &loaded.Database.URL) + fmt.Sprintf(verb, loaded.Describe())
	}
	encoded, err := json.Marshal(loaded)
	require.NoError(t, err)
	printed["json"] = string(encoded)
	var output bytes.Buffer
	slog.New(slog.NewJSONHandler(&output, nil)).Info("loaded", "config", loaded, "secret", loaded.Emitter.Authorization)
	slog.New(slog.NewTextHandler(&output, nil)).Info("loaded", "config", loaded, "secret", loaded.Emitter.Authorization)
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&output), zap.InfoLevel)
	zap.New(core).Info("loaded", zap.Any("config", loaded), zap.Any("secret", loaded.Emitter.Authorization))
	printed["logs"] = output.String()
	for way, text := range printed {
		require.NotContains(t, text, "hunter2", way)
		require.NotContains(t, text, fmt.Sprintf("%x", "hunter2"), way)
		require.Contains(t, text, "redacted", way)
	}
	secret := config.NewSecret("hunter2")
	require.Equal(t, "[redacted]", secret.String())
	require.Equal(t, "[redacted]", secret.GoString())
	require.Equal(t, "hunter2", secret.Reveal())
	encoded, err = json.Marshal(map[string]any{"secret": secret})
	require.NoError(t, err)
	require.JSONEq(t, `{"secret":"[redacted]"}`, string(encoded))
}

// A refused secret is not repeated, whatever is wrong with it.
func TestProblemsNeverShowSecrets(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"EMITTER_AUTHORIZATION= hunter2", "EMITTER_AUTHORIZATION=hunter2\x01", "EMITTER_AUTHORIZATION=hunter2é",
		"EMITTER_URL=https://hunter2@h/", "EMITTER_URL=https://a:hunter2@h/", "EMITTER_URL=ftp://h/?k=hunter2",
		"EMITTER_URL=https://a:hunter2@h:x/", "EMITTER_URL=a:hunter2@h", "EMITTER_URL=https://h/#hunter2",
		"EMITTER_URL= https://a:hunter2@h/", "EMITTER_URL=https://h/?a=%zz&b=hunter2#c",
		"DATABASE_URL=postgres://a:%zzhunter2@h/", "DATABASE_URL=mysql://a:hunter2@h/", "DATABASE_URL=password=hunter2",
		"DATABASE_URL=postgres://a:hunter2@h/ ", "DATABASE_URL=https://hunter2@h/", "DATABASE_URL=hunter2",
		"ADJOURN_TOKEN=hunter2",
	} {
		loaded, err := config.LoadFrom([]string{line})
		require.Error(t, err, line)
		require.NotContains(t, err.Error(), "hunter2", line)
		require.NotContains(t, fmt.Sprintf("%+v", loaded.Describe()), "hunter2", line)
		name, _, _ := strings.Cut(line, "=")
		require.Contains(t, err.Error(), name)
	}
}

// What a URL shows helps to find a mistake: everything that is no secret.
func TestURL_String(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"postgres://adjourn:p%40ss@h1:5432,h2/app?sslmode=disable": "postgres://adjourn:[redacted]@h1:5432,h2/app?sslmode=disable",
		"postgres://a:p@[::1]:5432,[::2]/app":                      "postgres://a:[redacted]@[::1]:5432,[::2]/app",
		"postgres://a:p@@h?port=5":                                 "postgres://a:[redacted]@h?port=5",
		"postgresql://adjourn@db/app":                              "postgresql://adjourn@db/app",
		"postgres:///app?host=/run/postgresql&sslpassword=x":       "postgres:///app?host=/run/postgresql&sslpassword=[redacted]",
		"https://third-party.example:8443/works?key=x#y":           "https://third-party.example:8443/works?key=[redacted]#[redacted]",
		"https://h/?host=hunter2":                                  "https://h/?host=[redacted]",
		"a:hunter2":                                                "[redacted]",
		"https://token@h/":                                         "https://[redacted]@h/",
		"host=h password=p":                                        "[redacted]",
		"https://h/?%zz":                                           "https://h/?[redacted]",
	} {
		require.Equal(t, want, config.NewURL(text).String(), text)
	}
}
