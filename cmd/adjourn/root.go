package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
)

// program is one run of the command.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run executes the command line and returns the exit status.
func (program *program) run(ctx context.Context, arguments []string) int {
	root := program.rootCommand()
	root.SetArgs(arguments)
	root.SetIn(program.stdin)
	root.SetOut(program.stdout)
	root.SetErr(program.stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return statusOK
	}
	fmt.Fprintf(program.stderr, "adjourn: %s\n", printableLines(err.Error()))
	if usage := new(usageError); errors.As(err, &usage) {
		if usage.help {
			fmt.Fprintf(program.stderr, "Run \"%s --help\" for usage.\n", command.CommandPath())
		}
		return statusUsage
	}
	return statusFailed
}

func (program *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "adjourn",
		Short: "Keeps a shared hourly emission quota, and every deadline",
		Long: `Adjourn emits works to a third party within a shared hourly quota, earliest
deadline first, and lets no deadline lapse because of it.

Settings come from the environment; "adjourn config" prints them all.
Exit status: 0 done, 1 failed, 2 wrong usage or configuration.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err: err, help: true} })
	root.AddCommand(
		program.migrateCommand(),
		program.setupCommand(),
		program.workerCommand(),
		program.serverCommand(),
		program.workCommand(),
		program.quotaCommand(),
		program.flowCommand(),
		program.configCommand(),
		program.devCommand(),
		program.demoCommand(),
		program.versionCommand(),
	)
	group(root)
	return root
}

// usageError is a fault of whoever wrote the command line or the environment.
type usageError struct {
	err error
	// help tells that the command's help would help.
	help bool
}

func (err *usageError) Error() string { return err.err.Error() }
func (err *usageError) Unwrap() error { return err.err }

func usagef(format string, arguments ...any) error {
	return &usageError{err: fmt.Errorf(format, arguments...), help: true}
}

// group makes a command that only holds others refuse everything else; cobra
// would print its help and report success.
func group(command *cobra.Command, children ...*cobra.Command) *cobra.Command {
	command.AddCommand(children...)
	command.SuggestionsMinimumDistance = 2
	command.Args = cobra.ArbitraryArgs
	command.RunE = func(command *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			return usagef("a command is missing: %s", strings.Join(childNames(command), ", "))
		}
		message := fmt.Sprintf("unknown command %q for %q", arguments[0], command.CommandPath())
		if near := command.SuggestionsFor(arguments[0]); len(near) > 0 {
			message += fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
		}
		return usagef("%s", message)
	}
	return command
}

func childNames(command *cobra.Command) []string {
	var names []string
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return names
}

// checked reports what an argument check refuses as wrong usage.
func checked(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if err := check(command, arguments); err != nil {
			return &usageError{err: err, help: true}
		}
		return nil
	}
}

func noArguments() cobra.PositionalArgs { return checked(cobra.NoArgs) }
