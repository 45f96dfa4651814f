package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/internal/submission"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// submitFlags of `work submit`.
type submitFlags struct {
	file                 string
	flow                 string
	payload, payloadFile string
	contentType          string
	deadline, deadlineIn string
	idempotencyKey       string
	stream               string
}

// oneWorkFlags describe a single work, and stand in the lines of a file instead.
var oneWorkFlags = []string{
	"flow", "payload", "payload-file", "content-type", "deadline", "deadline-in", "idempotency-key", "stream",
}

func (program *program) workSubmitCommand() *cobra.Command {
	var flags submitFlags
	command := &cobra.Command{
		Use:   "submit {--file FILE | --flow FLOW {--payload TEXT | --payload-file FILE}}",
		Short: "Hand in works: one by flags, or many from a file of JSON lines",
		Long: `Hand in works: one by flags, or many from a file, a JSON object a line:

  {"flow":"invoice","deadline":"2026-12-01T10:00:00Z","payload":{"invoice":"F-1"}}
  {"flow":"invoice","deadline_in":"2h","payload_file":"invoice.xml","idempotency_key":"invoice:F-2"}

Fields: flow, payload (any JSON value, sent as it stands) or payload_file
(looked up in the file's own directory), content_type, deadline or deadline_in
(from the database's now), idempotency_key, stream.

A bad line is reported with its number and reason; the others are submitted, and
the exit status is 1. Submitting a file again is harmless for lines that have an
idempotency_key.`,
		Example: `  adjourn work submit --file works.ndjson
  adjourn work submit --flow invoice --deadline-in 2h --payload '{"invoice":"F-1"}'`,
		Args: noArguments(),
	}
	set := command.Flags()
	set.StringVar(&flags.file, "file", "", `file of works, a JSON object a line; "-" reads standard input`)
	set.StringVar(&flags.flow, "flow", "", "flow of the one work")
	set.StringVar(&flags.payload, "payload", "", "payload, sent as it is")
	set.StringVar(&flags.payloadFile, "payload-file", "", "file that holds the payload")
	set.StringVar(&flags.contentType, "content-type", "",
		"content type (default: by the payload file's name, else application/json)")
	set.StringVar(&flags.deadline, "deadline", "", "deadline, such as 2026-12-01T10:00:00Z")
	set.StringVar(&flags.deadlineIn, "deadline-in", "", "deadline from now, such as 90s or 48h")
	set.StringVar(&flags.idempotencyKey, "idempotency-key", "",
		"key of the business operation: submitting it again is harmless")
	set.StringVar(&flags.stream, "stream", "", "sequence of numbers (default: the flow's name)")
	output := addOutput(command)
	program.completeFlows(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := checkSubmitFlags(command, flags); err != nil {
			return err
		}
		cfg, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		if flags.file != "" {
			return program.submitFile(command.Context(), cfg, db, flags.file, *output)
		}
		return program.submitOne(command.Context(), cfg, db, flags, *output)
	}
	return command
}

func checkSubmitFlags(command *cobra.Command, flags submitFlags) error {
	if flags.file != "" {
		for _, name := range oneWorkFlags {
			if command.Flags().Changed(name) {
				return usagef("--file and --%s stand together: the lines of the file say it", name)
			}
		}
		return nil
	}
	if flags.flow == "" {
		return usagef("--file or --flow is needed")
	}
	if command.Flags().Changed("payload") == command.Flags().Changed("payload-file") {
		return usagef("one of --payload and --payload-file is needed")
	}
	return nil
}

// submittedView is one work as `work submit` reports it.
type submittedView struct {
	ID work.ID `json:"id"`
	// Created is false when the idempotency key was known.
	Created bool `json:"created"`
}

func (program *program) submitOne(
	ctx context.Context, cfg config.Config, db *pgxpool.Pool, flags submitFlags, output format,
) error {
	now, err := app.DatabaseNow(ctx, db)
	if err != nil {
		return err
	}
	one := work.Submission{
		Flow: flags.flow, Payload: []byte(flags.payload),
		IdempotencyKey: flags.idempotencyKey, Stream: flags.stream,
	}
	if one.Deadline, err = submission.ParseDeadline(flags.deadline, flags.deadlineIn, now); err != nil {
		return &usageError{err: err}
	}
	if flags.payloadFile != "" {
		one.Payload, one.ContentType, err = submission.ReadPayload(flags.payloadFile, cfg.Works.PayloadBytesMax)
		if err != nil {
			return err
		}
	}
	if flags.contentType != "" {
		one.ContentType = flags.contentType
	}
	submitted, err := workpostgres.Submit(ctx, db, one)
	if err != nil {
		return app.ExplainDatabase(err)
	}
	if output == jsonFormat {
		return writeJSON(program.stdout, submittedView(submitted))
	}
	told := "submitted"
	if !submitted.Created {
		told = "was known by its idempotency key; nothing was added"
	}
	_, err = fmt.Fprintf(program.stdout, "work %d %s\n", submitted.ID, told)
	return err
}

func (program *program) submitFile(
	ctx context.Context, cfg config.Config, db *pgxpool.Pool, path string, output format,
) (err error) {
	input, files, err := program.openInput(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, input.Close()) }()
	defer files.Close()
	now, err := app.DatabaseNow(ctx, db)
	if err != nil {
		return err
	}
	reader := submission.NewReader(input, submission.Options{
		PayloadBytesMax: cfg.Works.PayloadBytesMax, Files: files, Now: now,
	})
	progress, endProgress := program.progress()
	report, fault := submission.Submit(ctx, reader, app.SubmissionRegister(workpostgres.New(db)),
		func(report submission.Report) {
			progress("%d submitted, %d repeated, %d refused", report.Submitted, report.Repeated, report.RefusedLines)
		})
	endProgress()
	if err = program.printReport(output, report); err != nil {
		return err
	}
	if fault != nil {
		return fmt.Errorf("%w (repeating the file is harmless for lines that have an idempotency_key)",
			app.ExplainDatabase(fault))
	}
	if report.RefusedLines > 0 {
		return fmt.Errorf("%d lines were refused; put them right and submit them", report.RefusedLines)
	}
	return nil
}

// openInput opens the file of works and the directory its payload files are
// looked up in: its own or, for standard input, the current one.
func (program *program) openInput(path string) (io.ReadCloser, *os.Root, error) {
	directory, input := ".", io.NopCloser(program.stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, nil, fmt.Errorf("--file: %w", err)
		}
		directory, input = filepath.Dir(path), file
	}
	files, err := os.OpenRoot(directory)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--file: %w", err), input.Close())
	}
	return input, files, nil
}

func (program *program) printReport(output format, report submission.Report) error {
	if output == jsonFormat {
		return writeJSON(program.stdout, report)
	}
	for _, refusal := range report.Refused {
		fmt.Fprintf(program.stderr, "line %d: %s\n", refusal.Line, printable(refusal.Reason))
	}
	if unlisted := report.RefusedLines - len(report.Refused); unlisted > 0 {
		fmt.Fprintf(program.stderr, "and %d more\n", unlisted)
	}
	_, err := fmt.Fprintf(program.stdout, "%d submitted, %d repeated, %d refused\n",
		report.Submitted, report.Repeated, report.RefusedLines)
	return err
}

// progress returns a function that shows how far a command came, on one line of
// a terminal, and one that ends the line. Elsewhere both say nothing.
func (program *program) progress() (show func(format string, arguments ...any), end func()) {
	file, isFile := program.stderr.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return func(string, ...any) {}, func() {}
	}
	shown := false
	show = func(format string, arguments ...any) {
		shown = true
		fmt.Fprintf(file, "\r"+format, arguments...)
	}
	end = func() {
		if shown {
			fmt.Fprintln(file)
		}
	}
	return show, end
}
