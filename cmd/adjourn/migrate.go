package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/migrations"
)

// Bounds of the migration's connection.
const (
	migrateConnectTimeout = 10 * time.Second
	closeTimeout          = 5 * time.Second
)

func (program *program) migrateCommand() *cobra.Command {
	return group(&cobra.Command{Use: "migrate", Short: "Bring the database's schema up to this program"},
		program.migrateUpCommand(), program.migrateStatusCommand())
}

// migrationView is one step of the schema as the commands print it.
type migrationView struct {
	Version   int       `json:"version"`
	Name      string    `json:"name"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// schemaView is what `migrate status` and `migrate up` print.
type schemaView struct {
	// Applied by this very command; only with `migrate up`.
	Applied []migrationView `json:"applied,omitempty"`
	// Migrations known to this program.
	Migrations []migrationView `json:"migrations"`
	// Pending are not applied yet.
	Pending int `json:"pending"`
}

func viewMigrations(steps []migrations.Migration) (views []migrationView, pending int) {
	views = []migrationView{}
	for _, step := range steps {
		views = append(views, migrationView{Version: step.Version, Name: step.Name, AppliedAt: step.AppliedAt.UTC()})
		if step.AppliedAt.IsZero() {
			pending++
		}
	}
	return views, pending
}

func (program *program) migrateUpCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "up",
		Short: "Apply the migrations that are missing, under a lock; safe to repeat",
		Args:  noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return program.withConnection(command.Context(), func(ctx context.Context, conn *pgx.Conn) error {
			applied, err := migrations.Up(ctx, conn)
			if err != nil {
				return err
			}
			steps, err := migrations.Status(ctx, conn)
			if err != nil {
				return err
			}
			view := schemaView{}
			view.Applied, _ = viewMigrations(applied)
			view.Migrations, view.Pending = viewMigrations(steps)
			return program.printSchema(*output, view, len(applied) == 0)
		})
	}
	return command
}

func (program *program) migrateStatusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "List the migrations and when each was applied; changes nothing",
		Args:  noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return program.withConnection(command.Context(), func(ctx context.Context, conn *pgx.Conn) error {
			steps, err := migrations.Status(ctx, conn)
			if err != nil {
				return err
			}
			view := schemaView{}
			view.Migrations, view.Pending = viewMigrations(steps)
			return program.printSchema(*output, view, false)
		})
	}
	return command
}

func (program *program) printSchema(output format, view schemaView, nothingToDo bool) error {
	if output == jsonFormat {
		return writeJSON(program.stdout, view)
	}
	shown := view.Migrations
	if len(view.Applied) > 0 {
		shown = view.Applied
	}
	rows := table{header: []string{"VERSION", "MIGRATION", "APPLIED"}}
	for _, step := range shown {
		applied := instant(step.AppliedAt)
		if step.AppliedAt.IsZero() {
			applied = "pending"
		}
		rows.add(strconv.Itoa(step.Version), step.Name, applied)
	}
	if err := rows.write(program.stdout); err != nil {
		return err
	}
	switch {
	case view.Pending > 0:
		fmt.Fprintf(program.stdout, "%d pending: run \"adjourn migrate up\"\n", view.Pending)
	case nothingToDo:
		fmt.Fprintln(program.stdout, "nothing to do: the schema is up to date")
	}
	return nil
}

// withConnection runs do on one connection of its own.
func (program *program) withConnection(
	ctx context.Context, do func(context.Context, *pgx.Conn) error,
) (err error) {
	cfg, err := loadDatabaseConfig()
	if err != nil {
		return err
	}
	settings, err := pgx.ParseConfig(cfg.Database.URL.Reveal())
	if err != nil {
		return &usageError{err: fmt.Errorf("DATABASE_URL: %w", err)}
	}
	settings.ConnectTimeout = migrateConnectTimeout
	settings.RuntimeParams["application_name"] = "adjourn migrate"
	conn, err := pgx.ConnectConfig(ctx, settings)
	if err != nil {
		return app.ExplainDatabase(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	return app.ExplainDatabase(do(ctx, conn))
}
