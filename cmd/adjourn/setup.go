package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
)

// setupTimeout bounds the whole setup, a new namespace's becoming visible
// included.
const setupTimeout = 2 * time.Minute

func (program *program) setupCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "setup",
		Short: "Prepare database and Temporal: limits, namespace, search attributes, schedule; safe to repeat",
		Long: `Prepare database and Temporal: the limits that submit_work knows, the namespace
(where Temporal lets us), the search attributes and the schedule of the passes.
Prints what it did and what was there already. What these credentials are not
allowed to do is said and skipped; the platform works without search attributes.`,
		Args: noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(command.Context(), setupTimeout)
		defer cancel()
		cfg, db, err := openDatabase(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		steps, err := program.setUp(ctx, cfg, db)
		if err != nil {
			return err
		}
		return program.printSteps(*output, steps)
	}
	return command
}

func (program *program) setUp(ctx context.Context, cfg config.Config, db *pgxpool.Pool) ([]app.Step, error) {
	logger, err := program.logger(cfg)
	if err != nil {
		return nil, err
	}
	options, err := temporalOptions()
	if err != nil {
		return nil, err
	}
	options.Logger = quietTemporalLogger(logger)
	temporal, err := app.DialTemporal(ctx, options)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	return app.Setup(ctx, db, temporal, app.SetupOptions{
		PayloadBytesMax: cfg.Works.PayloadBytesMax, Window: cfg.Quota.Window,
		Namespace: options.Namespace,
		Schedule:  app.Schedule(cfg),
	}), nil
}

// temporalOptions reads the TEMPORAL_* settings; what is wrong with them is
// wrong usage.
func temporalOptions() (client.Options, error) {
	options, err := app.TemporalOptions()
	if err != nil {
		return client.Options{}, &usageError{err: err}
	}
	return options, nil
}

// stepView is one step of the setup as the command prints it.
type stepView struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Detail string `json:"detail,omitempty"`
}

func (program *program) printSteps(output format, steps []app.Step) error {
	views := []stepView{}
	rows := table{header: []string{"WHAT", "RESULT", "DETAIL"}}
	failed := false
	for _, step := range steps {
		view := stepView{Name: step.Name, Result: string(step.Result)}
		if step.Err != nil {
			view.Detail = step.Err.Error()
		}
		views = append(views, view)
		rows.add(view.Name, view.Result, view.Detail)
		failed = failed || step.Result == app.Failed
	}
	if output == jsonFormat {
		if err := writeJSON(program.stdout, views); err != nil {
			return err
		}
	} else if err := rows.write(program.stdout); err != nil {
		return err
	}
	if failed {
		return errors.New("setup is not complete: put right what failed and run it again")
	}
	return nil
}
