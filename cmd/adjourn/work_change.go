package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// change is what an operator decided about works.
type change struct {
	use, short, long string
	// done is the result of a change that was made.
	done string
	make func(*workpostgres.Store, context.Context, work.ID) error
}

// changedView is one work's result.
type changedView struct {
	ID     work.ID `json:"id"`
	Result string  `json:"result"`
	Error  string  `json:"error,omitempty"`
}

func (program *program) workCancelCommand() *cobra.Command {
	return program.changeCommand(change{
		use:   "cancel ID...",
		short: "End works for good that are not finished and not being emitted",
		long: `End works for good. Works that are pending, admitted or failed can be cancelled; one
whose attempt is in flight cannot: the third party may be taking it.`,
		done: "cancelled", make: (*workpostgres.Store).Cancel,
	})
}

func (program *program) workRetryCommand() *cobra.Command {
	return program.changeCommand(change{
		use:   "retry ID...",
		short: "Let failed works be emitted again, with their number and idempotency key",
		done:  "pending", make: (*workpostgres.Store).Retry,
	})
}

func (program *program) changeCommand(change change) *cobra.Command {
	command := &cobra.Command{
		Use: change.use, Short: change.short, Long: change.long,
		Args: checked(cobra.MinimumNArgs(1)),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, arguments []string) error {
		ids, err := parseIDs(arguments)
		if err != nil {
			return err
		}
		_, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		store := workpostgres.New(db)
		var views []changedView
		failures := 0
		for _, id := range ids {
			view := changedView{ID: id, Result: change.done}
			if err := change.make(store, command.Context(), id); err != nil {
				view.Result, view.Error = "unchanged", app.ExplainDatabase(err).Error()
				failures++
			}
			views = append(views, view)
		}
		if err := program.printChanged(*output, views); err != nil {
			return err
		}
		if failures > 0 {
			return fmt.Errorf("%d of %d works were left unchanged", failures, len(ids))
		}
		return nil
	}
	return command
}

func (program *program) printChanged(output format, views []changedView) error {
	if output == jsonFormat {
		return writeJSON(program.stdout, views)
	}
	rows := table{header: []string{"ID", "RESULT", "ERROR"}}
	for _, view := range views {
		rows.add(view.ID.String(), view.Result, view.Error)
	}
	return rows.write(program.stdout)
}
