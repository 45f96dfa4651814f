package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

func (program *program) workCommand() *cobra.Command {
	return group(&cobra.Command{Use: "work", Short: "Hand works in, look at them, decide about them"},
		program.workSubmitCommand(), program.workListCommand(), program.workShowCommand(),
		program.workCancelCommand(), program.workRetryCommand())
}

// parseIDs reads the ids of works.
func parseIDs(arguments []string) ([]work.ID, error) {
	ids := make([]work.ID, len(arguments))
	for i, argument := range arguments {
		id, err := strconv.ParseInt(argument, 10, 64)
		if err != nil || id < 1 {
			return nil, usagef("work id %q: accepted is a positive number, as `adjourn work list` shows it", argument)
		}
		ids[i] = work.ID(id)
	}
	return ids, nil
}

// oneOf checks a flag against the names it accepts.
func oneOf[T ~string](flag, value string, accepted []T) (T, error) {
	if slices.Contains(accepted, T(value)) {
		return T(value), nil
	}
	return "", usagef("--%s %q: accepted are %s", flag, value, strings.Join(texts(accepted), ", "))
}

func texts[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return texts
}

// completeTimeout bounds what pressing a key in the shell may cost.
const completeTimeout = 2 * time.Second

// completeFlows lets the shell complete --flow from the configuration and the
// database; where they cannot be read it offers nothing.
func (program *program) completeFlows(command *cobra.Command) {
	err := command.RegisterFlagCompletionFunc("flow",
		func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
			defer cancel()
			return knownFlows(ctx), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil {
		panic(err) // a flag that the caller did not define: found by any test
	}
}

func knownFlows(ctx context.Context) []string {
	cfg, err := config.Load()
	if err != nil {
		return nil
	}
	policy := app.Policy(cfg)
	flows := append(policy.Governed(), policy.ExemptFlows...)
	if db, err := app.OpenDatabase(ctx, cfg.Database.URL.Reveal()); err == nil {
		defer db.Close()
		if submitted, err := workpostgres.New(db).Flows(ctx); err == nil {
			flows = append(flows, submitted...)
		}
	}
	slices.Sort(flows)
	return slices.Compact(flows)
}

// span prints a length of time to the second.
func span(length time.Duration) string { return fmt.Sprint(length.Round(time.Second)) }
