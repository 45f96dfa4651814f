package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/log"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/telemetry"
)

// logger writes to stderr as the configuration says.
func (program *program) logger(cfg config.Config) (*zap.Logger, error) {
	logger, err := telemetry.NewLogger(
		telemetry.LoggerOptions{Level: cfg.Log.Level, Format: cfg.Log.Format}, program.stderr)
	if err != nil {
		return nil, &usageError{err: err}
	}
	return logger, nil
}

// quietTemporalLogger leaves out what the SDK tells about every connection, for
// commands whose stderr people read.
func quietTemporalLogger(logger *zap.Logger) log.Logger {
	return telemetry.TemporalLogger(logger.WithOptions(zap.IncreaseLevel(zap.WarnLevel)))
}

func (program *program) workerCommand() *cobra.Command {
	var lanes []string
	command := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker until SIGINT or SIGTERM; as many as you like",
		Long: `Run a worker. On SIGINT or SIGTERM it takes no more work, lets attempts under way
end within ADJOURN_WORKER_STOP_TIMEOUT, and exits; a second signal ends it at
once. Metrics and health are at ADJOURN_METRICS_ADDR.`,
		Args: noArguments(),
	}
	command.Flags().StringSliceVar(&lanes, "lanes", nil,
		"lanes to serve instead of ADJOURN_LANES: dispatch,governed,override,exempt")
	mustComplete(command, "lanes", "dispatch", "governed", "override", "exempt")
	command.RunE = func(command *cobra.Command, _ []string) error {
		cfg, err := loadDatabaseConfig()
		if err != nil {
			return err
		}
		if command.Flags().Changed("lanes") {
			if err := cfg.Worker.Lanes.Decode(strings.Join(lanes, ",")); err != nil {
				return usagef("--lanes: %w: accepted is a list of dispatch, governed, override and exempt", err)
			}
		}
		if !slices.Equal(cfg.Worker.Lanes, config.Lanes{"dispatch"}) { // passes alone emit nothing
			if err := cfg.RequireEmitter(); err != nil {
				return &usageError{err: err}
			}
		}
		dependencies, err := program.dependencies(cfg)
		if err != nil {
			return err
		}
		worker, err := app.NewWorker(command.Context(), cfg, dependencies)
		if err != nil {
			return fmt.Errorf("start the worker: %w", err)
		}
		return worker.Run(command.Context())
	}
	return command
}

func (program *program) serverCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "server",
		Short: "Serve health, readiness and metrics at ADJOURN_SERVER_ADDR until SIGINT or SIGTERM",
		Long: `Serve over HTTP at ADJOURN_SERVER_ADDR, until SIGINT or SIGTERM:

  /healthz   the process is up
  /readyz    database, schema and Temporal answer; 503 and which one otherwise
  /metrics   the window and the backlog, read from the database at each scrape`,
		Args: noArguments(),
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		cfg, err := loadDatabaseConfig()
		if err != nil {
			return err
		}
		dependencies, err := program.dependencies(cfg)
		if err != nil {
			return err
		}
		server, err := app.NewServer(command.Context(), cfg, dependencies)
		if err != nil {
			return fmt.Errorf("start the server: %w", err)
		}
		return server.Run(command.Context())
	}
	return command
}

func (program *program) dependencies(cfg config.Config) (app.Dependencies, error) {
	logger, err := program.logger(cfg)
	if err != nil {
		return app.Dependencies{}, err
	}
	temporal, err := temporalOptions()
	if err != nil {
		return app.Dependencies{}, err
	}
	return app.Dependencies{Logger: logger, Temporal: temporal}, nil
}
