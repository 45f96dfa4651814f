package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// listMax bounds one page of `work list`.
const listMax = 1000

// listFlags of `work list`.
type listFlags struct {
	states       []string
	lane         string
	flow, reason string
	limit        int
	before       int64
}

func (program *program) workListCommand() *cobra.Command {
	var flags listFlags
	command := &cobra.Command{
		Use:   "list",
		Short: "List works, newest first",
		Long: `List works, newest first, finished ones included. The next page begins with
--before set to the last id of this one.`,
		Args: noArguments(),
	}
	set := command.Flags()
	set.StringSliceVar(&flags.states, "state", nil,
		"only works in these states: pending, admitted, attempting, emitted, failed, cancelled")
	set.StringVar(&flags.flow, "flow", "", "only works of this flow")
	set.StringVar(&flags.lane, "lane", "", "only works of this lane: governed, override or exempt")
	set.StringVar(&flags.reason, "reason", "", "only works with this reason")
	set.IntVar(&flags.limit, "limit", work.ListLimit, "works to list, from 1 to 1000")
	set.Int64Var(&flags.before, "before", 0, "only works that arrived before this id")
	mustComplete(command, "state", texts(work.States())...)
	mustComplete(command, "lane", texts(work.Lanes())...)
	program.completeFlows(command)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		options, err := flags.options()
		if err != nil {
			return err
		}
		_, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		works, err := workpostgres.New(db).List(command.Context(), options)
		if err != nil {
			return app.ExplainDatabase(err)
		}
		return program.printWorks(*output, works)
	}
	return command
}

func (flags listFlags) options() (work.ListOptions, error) {
	options := work.ListOptions{
		Flow: flags.flow, Reason: flags.reason, Limit: flags.limit, Before: work.ID(flags.before),
	}
	for _, name := range flags.states {
		state, err := oneOf("state", name, work.States())
		if err != nil {
			return options, err
		}
		options.States = append(options.States, state)
	}
	if flags.lane != "" {
		var err error
		if options.Lane, err = oneOf("lane", flags.lane, work.Lanes()); err != nil {
			return options, err
		}
	}
	if flags.limit < 1 || flags.limit > listMax {
		return options, usagef("--limit %d: accepted are 1 to %d", flags.limit, listMax)
	}
	if flags.before < 0 {
		return options, usagef("--before %d: accepted is the id of a work", flags.before)
	}
	return options, nil
}

func (program *program) printWorks(output format, works []work.Work) error {
	if output == jsonFormat {
		views := []workView{}
		for _, listed := range works {
			views = append(views, viewWork(listed))
		}
		return writeJSON(program.stdout, views)
	}
	rows := table{header: []string{
		"ID", "FLOW", "STATE", "LANE", "NUMBER", "ATTEMPTS", "OUTCOME", "REASON", "DEADLINE", "CREATED",
	}}
	for _, listed := range works {
		rows.add(listed.ID.String(), listed.Flow, string(listed.State), orDash(listed.Lane),
			number(listed.Number), strconv.Itoa(listed.Attempts), orDash(listed.Outcome), orDash(listed.Reason),
			instant(listed.Deadline), instant(listed.CreatedAt))
	}
	return rows.write(program.stdout)
}
