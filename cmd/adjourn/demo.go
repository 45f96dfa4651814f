package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/examples"
	"github.com/adjourn/adjourn/internal/demo"
	"github.com/adjourn/adjourn/internal/playground"
	"github.com/adjourn/adjourn/internal/telemetry"
)

func (program *program) demoCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on this machine with sample works, and judge the result",
		Long: `Start Postgres, Temporal, a simulated third party and a worker, emit six hundred
sample works in windows of twenty seconds, first observing, then enforcing, and
tell what happens and why. It ends with our figures beside the third party's own
log and a verdict; the exit status is 0 only if that is "ok".

Postgres is DATABASE_URL's server (in a database of its own, dropped afterwards),
else this machine's; Temporal is TEMPORAL_ADDRESS, else the pinned one, which the
first run builds.`,
		Args: noArguments(),
	}
	exit := command.Flags().Bool("exit", false, "end after the verdict instead of staying up until Ctrl-C")
	works := command.Flags().String("works", "", "file of works to use, a JSON object a line (default: the built-in six hundred)")
	verbose := command.Flags().BoolP("verbose", "v", false, "show the platform's log, on stderr")
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		run := demoRun{program: program, output: *output, works: *works, exit: *exit, verbose: *verbose}
		return run.run(command.Context())
	}
	return command
}

// demoRun is one run of the demo command.
type demoRun struct {
	program       *program
	output        format
	works         string
	exit, verbose bool
}

// narration is where the story goes: stdout, unless that is for programs.
func (run demoRun) narration() io.Writer {
	if run.output == jsonFormat {
		return run.program.stderr
	}
	return run.program.stdout
}

func (run demoRun) run(ctx context.Context) (err error) {
	scratch, err := os.MkdirTemp("", "adjourn-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if run.works == "" {
		if err := os.CopyFS(scratch, examples.Files); err != nil {
			return fmt.Errorf("unpack the sample works: %w", err)
		}
		run.works = filepath.Join(scratch, examples.Works)
	}
	stage, err := run.start(ctx, filepath.Join(scratch, "third-party.ndjson"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Stop(context.WithoutCancel(ctx))) }()
	return run.play(stage.Stack.Context(), stage)
}

func (run demoRun) start(ctx context.Context, thirdPartyLog string) (*playground.Playground, error) {
	cfg, err := config.LoadFrom(append(demo.Environ(false), databaseFromEnvironment()...))
	if err != nil {
		return nil, &usageError{err: err}
	}
	level := "error"
	if run.verbose {
		level = "info"
	}
	logger, err := telemetry.NewLogger(telemetry.LoggerOptions{Level: level, Format: "console"}, run.program.stderr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(run.narration(), "Starting Postgres, Temporal and a simulated third party …")
	stage, err := playground.Start(ctx, playground.Options{
		Config: cfg, OwnDatabase: true, TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"),
		ThirdPartyLog: thirdPartyLog, Progress: run.narration(), Logger: logger,
	})
	if err != nil {
		return nil, fmt.Errorf("start the demo: %w", err)
	}
	if stage.Stack.TemporalUIURL != "" {
		fmt.Fprintf(run.narration(), "Temporal UI: %s\n", stage.Stack.TemporalUIURL)
	}
	fmt.Fprintln(run.narration(), "Times are UTC.")
	return stage, nil
}

// databaseFromEnvironment is the one setting the demo takes from outside.
func databaseFromEnvironment() []string {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		return []string{"DATABASE_URL=" + url}
	}
	return nil
}

func (run demoRun) play(ctx context.Context, stage *playground.Playground) error {
	report, err := demo.Scenario{Playground: stage, Works: run.works, Out: run.narration()}.Run(ctx)
	if err != nil {
		return fmt.Errorf("the demo did not come to its end: %w", err)
	}
	if err := run.print(report); err != nil {
		return err
	}
	if !run.exit {
		if err := run.stayUp(ctx, stage); err != nil {
			return err
		}
	}
	if report.Verdict != demo.VerdictOK {
		return errors.New("the verdict is " + report.Verdict)
	}
	return nil
}

func (run demoRun) print(report demo.Report) error {
	if run.output == jsonFormat {
		return writeJSON(run.program.stdout, report)
	}
	fmt.Fprintln(run.program.stdout)
	return report.Print(run.program.stdout)
}

// stayUp leaves a worker and the server running until the signal.
func (run demoRun) stayUp(ctx context.Context, stage *playground.Playground) error {
	cfg, err := config.LoadFrom(demo.Environ(true))
	if err != nil {
		return err
	}
	return run.program.serve(ctx, stage, cfg, demo.Environ(true), run.narration())
}
