package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// LoggerOptions says how much is logged, and how.
type LoggerOptions struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is json or console.
	Format string
}

// NewLogger returns a logger that writes whole lines to writer, which must be
// safe for concurrent use only through this logger. An unknown level or format
// is an error that names what is accepted.
func NewLogger(options LoggerOptions, writer io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(options.Level)
	if err != nil || level > zapcore.ErrorLevel {
		return nil, fmt.Errorf("log level %q: accepted are debug, info, warn and error", options.Level)
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.TimeKey = "time"
	encoding.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	encoding.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	switch options.Format {
	case "json":
		encoder = zapcore.NewJSONEncoder(encoding)
	case "console":
		encoding.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(encoding)
	default:
		return nil, fmt.Errorf("log format %q: accepted are json and console", options.Format)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(writer)), level)
	return zap.New(core, zap.AddCaller()), nil
}

// noStack is above every level, so that Temporal's own messages carry no stacks.
const noStack = slog.Level(1000)

// TemporalLogger lets Temporal's SDK write to logger, caller line included.
func TemporalLogger(logger *zap.Logger) log.Logger {
	return log.NewStructuredLogger(slog.New(zapslog.NewHandler(logger.Core(),
		zapslog.WithName("temporal"), zapslog.WithCaller(true), zapslog.AddStacktraceAt(noStack))))
}
