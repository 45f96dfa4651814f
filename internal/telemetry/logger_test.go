package telemetry_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/internal/telemetry"
)

func TestNewLogger_WritesWholeLinesFromItsLevelOn(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	logger, err := telemetry.NewLogger(telemetry.LoggerOptions{Level: "warn", Format: "json"}, &output)
	require.NoError(t, err)
	logger.Info("below the level")
	logger.Warn("hostile \x1b[2J\n", zap.String("flow", "a\nb"))
	require.Equal(t, 1, strings.Count(output.String(), "\n"), "one message, one line")
	require.NotContains(t, output.String(), "\x1b")
	var line map[string]any
	require.NoError(t, json.Unmarshal(output.Bytes(), &line))
	require.Equal(t, "warn", line["level"])
	require.Equal(t, "a\nb", line["flow"])
	require.Contains(t, line["caller"], "telemetry/logger_test.go")
	require.Contains(t, line, "time")
}

func TestNewLogger_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for options, want := range map[telemetry.LoggerOptions]string{
		{Level: "loud", Format: "json"}:  `log level "loud": accepted are debug, info, warn and error`,
		{Level: "fatal", Format: "json"}: `log level "fatal"`,
		{Level: "info", Format: "xml"}:   `log format "xml": accepted are json and console`,
	} {
		_, err := telemetry.NewLogger(options, &bytes.Buffer{})
		require.ErrorContains(t, err, want)
	}
}

// Temporal's messages keep their caller and fields, and carry no stack.
func TestTemporalLogger(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	logger, err := telemetry.NewLogger(telemetry.LoggerOptions{Level: "debug", Format: "json"}, &output)
	require.NoError(t, err)
	telemetry.TemporalLogger(logger).Error("poll broke", "TaskQueue", "adjourn-override")
	var line map[string]any
	require.NoError(t, json.Unmarshal(output.Bytes(), &line))
	require.Equal(t, "temporal", line["logger"])
	require.Equal(t, "adjourn-override", line["TaskQueue"])
	require.Contains(t, line["caller"], "telemetry/logger_test.go")
	require.NotContains(t, line, "stacktrace")
}
