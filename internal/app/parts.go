package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/migrations"
)

// Dependencies are what a process is given rather than makes itself.
type Dependencies struct {
	// Logger is required.
	Logger *zap.Logger
	// Temporal says where the cluster is; see [TemporalOptions]. Logger and
	// metrics handler are set by the process itself.
	Temporal client.Options
	// Emitter replaces the one the configuration names, in every lane; nil does
	// not.
	Emitter emitter.Emitter
}

// parts are what workers and servers have in common, and how to undo it.
type parts struct {
	config   config.Config
	logger   *zap.Logger
	registry *prometheus.Registry
	cleanups cleanups
}

func newParts(cfg config.Config, dependencies Dependencies) *parts {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return &parts{
		config: cfg, logger: dependencies.Logger, registry: registry,
		cleanups: cleanups{logger: dependencies.Logger},
	}
}

// Bounds of the clean-ups.
const (
	closePoolTimeout     = 5 * time.Second
	closeTemporalTimeout = 5 * time.Second
	closeServerTimeout   = 6 * time.Second
	closeCounterTimeout  = 10 * time.Second
)

// openPool opens a pool that is closed at the end.
func (parts *parts) openPool(
	ctx context.Context, name string, size int, configure func(*pgxpool.Config),
) (*pgxpool.Pool, error) {
	opened, err := pool(ctx, parts.config.Database.URL.Reveal(), name, size, configure)
	if err != nil {
		return nil, err
	}
	parts.cleanups.add("pool "+name, closePoolTimeout, func(context.Context) error {
		opened.Close()
		return nil
	})
	return opened, nil
}

// dialTemporal connects a client, with logs and metrics of the process, that is
// closed at the end.
func (parts *parts) dialTemporal(
	options client.Options, dial func(client.Options) (client.Client, error),
) (client.Client, error) {
	options.Logger = telemetry.TemporalLogger(parts.logger)
	handler, closer := telemetry.NewTemporalMetrics(parts.registry, parts.logger)
	options.MetricsHandler = handler
	parts.cleanups.add("Temporal's metrics", closeTemporalTimeout, func(context.Context) error {
		return closer.Close()
	})
	temporal, err := dial(options)
	if err != nil {
		return nil, err
	}
	parts.cleanups.add("Temporal client", closeTemporalTimeout, func(context.Context) error {
		temporal.Close()
		return nil
	})
	return temporal, nil
}

// listen serves metrics and health at address until the end.
func (parts *parts) listen(ctx context.Context, address string, checks []telemetry.Check) (*telemetry.Server, error) {
	server, err := telemetry.Listen(ctx, address,
		telemetry.NewHandler(parts.registry, checks, parts.logger), parts.logger)
	if err != nil {
		return nil, err
	}
	parts.cleanups.add("HTTP server", closeServerTimeout, server.Close)
	parts.logger.Info("listening", zap.String("address", server.Addr()))
	return server, nil
}

// Time-outs of the readiness checks.
const (
	checkDatabaseTimeout = 2 * time.Second
	checkSchemaTimeout   = 2 * time.Second
	checkTemporalTimeout = 3 * time.Second
)

// checks are what a process needs to do its part.
func (parts *parts) checks(db *pgxpool.Pool, temporal client.Client) []telemetry.Check {
	return []telemetry.Check{
		{Name: "database", Timeout: checkDatabaseTimeout, Run: db.Ping},
		{Name: "schema", Timeout: checkSchemaTimeout, Run: func(ctx context.Context) error {
			return migrations.Check(ctx, db)
		}},
		{Name: "temporal", Timeout: checkTemporalTimeout, Run: func(ctx context.Context) error {
			if _, err := temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
				return fmt.Errorf("check Temporal: %w", err)
			}
			return nil
		}},
	}
}
