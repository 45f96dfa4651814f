package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/internal/playground"
)

func (program *program) devCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine until Ctrl-C",
		Long: `Start Postgres, Temporal with its web interface, a simulated third party, a worker
and the server in one process tree, under the settings of the environment, and
stay up until Ctrl-C. It prints what to export so that other commands find them.

DATABASE_URL and TEMPORAL_ADDRESS are used where they are set. Postgres keeps its
data with --data; without, everything is forgotten at the end.`,
		Args: noArguments(),
	}
	data := command.Flags().String("data", "", "directory that keeps the database from one start to the next")
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		ctx := command.Context()
		cfg, err := loadConfig()
		if err != nil {
			return err
		}
		logger, err := program.logger(cfg)
		if err != nil {
			return err
		}
		fmt.Fprintln(program.stderr, "Starting Postgres, Temporal and a simulated third party …")
		stage, err := playground.Start(ctx, playground.Options{
			Config: cfg, TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"), PostgresDirectory: *data,
			Progress: program.stderr, Logger: logger,
		})
		if err != nil {
			return fmt.Errorf("start the stack: %w", err)
		}
		defer func() { err = errors.Join(err, stage.Stop(context.WithoutCancel(ctx))) }()
		return program.serve(stage.Stack.Context(), stage, cfg, environmentOf(cfg), program.stdout)
	}
	return command
}

// environmentOf lists the settings that came from the environment, so that other
// commands explain by the same ones; secrets and addresses that the stage gives
// are left out.
func environmentOf(cfg config.Config) []string {
	var lines []string
	for _, setting := range cfg.Describe() {
		switch setting.Name {
		case "DATABASE_URL", "EMITTER_URL", "EMITTER_AUTHORIZATION":
			continue
		}
		if setting.Origin == config.Environment {
			lines = append(lines, setting.Name+"="+setting.Value)
		}
	}
	return lines
}

// serve runs a worker and the server on a started stage, prints what to export,
// and waits for the signal. A part that ends by itself is an error.
func (program *program) serve(
	ctx context.Context, stage *playground.Playground, cfg config.Config, environ []string, out io.Writer,
) (err error) {
	worker, err := stage.StartWorker(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Stop()) }()
	server, err := stage.StartServer(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	printExports(out, stage, server.Addr, environ)
	select {
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, devstack.ErrStopped) {
			return cause
		}
		return nil
	case <-worker.Done():
		return errors.Join(errors.New("the worker ended by itself"), worker.Stop())
	case <-server.Done():
		return errors.Join(errors.New("the server ended by itself"), server.Stop())
	}
}

func printExports(out io.Writer, stage *playground.Playground, serverAddress string, environ []string) {
	fmt.Fprint(out, "\nEverything is up; Ctrl-C ends it. For other commands, in another terminal:\n\n")
	lines := append([]string{
		"DATABASE_URL=" + stage.Stack.DatabaseURL,
		"TEMPORAL_ADDRESS=" + stage.Stack.TemporalAddress,
		"EMITTER_URL=" + stage.Stack.ThirdParty.URL,
	}, environ...)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(out, "  export %s='%s'\n", name, value)
	}
	fmt.Fprint(out, "\n  adjourn quota show\n  adjourn work list\n  adjourn work show 1\n\n")
	fmt.Fprintf(out, "  health, metrics  http://%s/readyz  http://%s/metrics\n", serverAddress, serverAddress)
	fmt.Fprintf(out, "  third party      %s/arrivals\n", stage.Stack.ThirdParty.URL)
	if stage.Stack.TemporalUIURL != "" {
		fmt.Fprintf(out, "  Temporal UI      %s\n", stage.Stack.TemporalUIURL)
	}
}
