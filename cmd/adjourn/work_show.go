package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// Bounds of what `work show` tells of a work's past; the latest come first.
const (
	attemptsShown  = 50
	deferralsShown = 50
)

// showView is everything `work show` prints.
type showView struct {
	workView
	Explanation work.Explanation `json:"explanation"`
	Made        []madeView       `json:"made"`
	Deferrals   []deferralView   `json:"deferrals"`
	// QuotaError says why the quota could not be read; the rest is there.
	QuotaError string `json:"quota_error,omitempty"`
}

// madeView is one attempt that ended.
type madeView struct {
	Attempt   int          `json:"attempt"`
	Lane      work.Lane    `json:"lane"`
	SlotStart time.Time    `json:"slot_start,omitzero"`
	BegunAt   time.Time    `json:"begun_at"`
	EndedAt   time.Time    `json:"ended_at"`
	Outcome   work.Outcome `json:"outcome"`
	// Spent: the third party may have counted it.
	Spent   bool         `json:"spent"`
	Receipt *receiptView `json:"receipt,omitempty"`
	Detail  string       `json:"detail,omitempty"`
}

// deferralView is one window's refusal.
type deferralView struct {
	WindowStart time.Time `json:"window_start"`
	Reason      string    `json:"reason"`
	At          time.Time `json:"at"`
}

func (program *program) workShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Tell where a work is, why, and what happens next and when",
		Args:  checked(cobra.ExactArgs(1)),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, arguments []string) error {
		ids, err := parseIDs(arguments)
		if err != nil {
			return err
		}
		cfg, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		view, err := readShown(command.Context(), cfg, db, ids[0])
		if err != nil {
			return app.ExplainDatabase(err)
		}
		if *output == jsonFormat {
			return writeJSON(program.stdout, view)
		}
		return program.printShown(view)
	}
	return command
}

func readShown(ctx context.Context, cfg config.Config, db *pgxpool.Pool, id work.ID) (showView, error) {
	store := workpostgres.New(db)
	found, err := store.Get(ctx, id)
	if err != nil {
		return showView{}, err
	}
	made, err := store.Attempts(ctx, id, attemptsShown)
	if err != nil {
		return showView{}, err
	}
	deferrals, err := store.Deferrals(ctx, id, deferralsShown)
	if err != nil {
		return showView{}, err
	}
	view := showView{workView: viewWork(found), Made: []madeView{}, Deferrals: []deferralView{}}
	for _, attempt := range made {
		view.Made = append(view.Made, madeView{
			Attempt: attempt.Sequence, Lane: attempt.Lane, SlotStart: attempt.SlotStart.UTC(),
			BegunAt: attempt.BegunAt.UTC(), EndedAt: attempt.EndedAt.UTC(), Outcome: attempt.Outcome,
			Spent: attempt.Spent, Receipt: viewReceipt(attempt.Receipt), Detail: attempt.Detail,
		})
	}
	for _, deferral := range deferrals {
		view.Deferrals = append(view.Deferrals, deferralView{
			WindowStart: deferral.WindowStart.UTC(), Reason: deferral.Reason, At: deferral.At.UTC(),
		})
	}
	circumstances, quotaFault, err := readCircumstances(ctx, cfg, db, found.Flow)
	if err != nil {
		return showView{}, err
	}
	if quotaFault != nil {
		view.QuotaError = quotaFault.Error()
	}
	if len(deferrals) > 0 {
		circumstances.Deferral = deferrals[0]
	}
	view.Explanation = found.Explain(circumstances)
	view.Explanation.NextAt = view.Explanation.NextAt.UTC()
	return view, nil
}

// readCircumstances asks what the work's next step depends on. A quota that
// cannot be read is told apart: the work can be explained without it.
func readCircumstances(
	ctx context.Context, cfg config.Config, db *pgxpool.Pool, flow string,
) (circumstances work.Circumstances, quotaFault, err error) {
	treatment := app.Policy(cfg).Treatment(flow)
	circumstances = work.Circumstances{
		Governed: treatment != quota.Exempt, Enforced: treatment == quota.Enforce,
		Margin: cfg.Deadline.OverrideMargin, NextPass: cfg.Dispatch.Interval,
	}
	usage, quotaFault := quotapostgres.NewRegister(app.QuotaOptions(cfg)).Usage(ctx, db)
	if quotaFault != nil {
		circumstances.Now, err = app.DatabaseNow(ctx, db)
		return circumstances, quotaFault, err
	}
	circumstances.Now, circumstances.HeldUntil = usage.Now, usage.HeldUntil
	circumstances.WindowStart, circumstances.WindowEnd = usage.Window.Start, usage.Window.End()
	return circumstances, nil, nil
}

func (program *program) printShown(view showView) error {
	facts := table{}
	for _, fact := range view.facts() {
		if fact[1] != "" {
			facts.add(fact[0], fact[1])
		}
	}
	if err := facts.write(program.stdout); err != nil {
		return err
	}
	if err := program.printMade(view.Made); err != nil {
		return err
	}
	if len(view.Deferrals) == 0 {
		return nil
	}
	rows := table{title: "deferrals", header: []string{"WINDOW", "REASON", "AT"}}
	for _, deferral := range view.Deferrals {
		rows.add(instant(deferral.WindowStart), deferral.Reason, instant(deferral.At))
	}
	return rows.write(program.stdout)
}

// facts are the lines of the work itself; those without a value are left out.
func (view showView) facts() [][2]string {
	atOrNothing := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return instant(at)
	}
	numbered := ""
	if view.Number > 0 {
		numbered = strconv.FormatInt(view.Number, 10) + " of stream " + view.Stream
	}
	deadline := atOrNothing(view.Deadline)
	if view.Late {
		deadline += " (emitted late)"
	}
	receipt := receiptView{}
	if view.Receipt != nil {
		receipt = *view.Receipt
	}
	return [][2]string{
		{"work", view.ID.String()},
		{"flow", view.Flow},
		{"state", string(view.State)},
		{"why", view.Explanation.Why},
		{"next", view.Explanation.Next},
		{"next at", atOrNothing(view.Explanation.NextAt)},
		{"quota", view.QuotaError},
		{"deadline", deadline},
		{"lane", string(view.Lane)},
		{"outcome", string(view.Outcome)},
		{"reason", view.Reason},
		{"detail", view.Detail},
		{"window", atOrNothing(view.SlotStart)},
		{"admission", string(view.Admission)},
		{"number", numbered},
		{"attempts", strconv.Itoa(view.Attempts)},
		{"back-off until", atOrNothing(view.NotBefore)},
		{"status", statusText(receipt.Status)},
		{"reference", receipt.Reference},
		{"answer", receipt.Answer},
		{"idempotency key", view.IdempotencyKey},
		{"workflow", view.WorkflowID},
		{"created", atOrNothing(view.CreatedAt)},
		{"finished", atOrNothing(view.FinishedAt)},
	}
}

func statusText(status int) string {
	if status == 0 {
		return ""
	}
	return strconv.Itoa(status)
}

func (program *program) printMade(made []madeView) error {
	if len(made) == 0 {
		return nil
	}
	rows := table{title: "attempts", header: []string{
		"ATTEMPT", "LANE", "WINDOW", "BEGUN", "ENDED", "OUTCOME", "SLOT", "STATUS", "REFERENCE", "DETAIL",
	}}
	for _, attempt := range made {
		slot := "kept"
		if attempt.Spent {
			slot = "spent"
		}
		receipt := receiptView{}
		if attempt.Receipt != nil {
			receipt = *attempt.Receipt
		}
		rows.add(strconv.Itoa(attempt.Attempt), string(attempt.Lane), instant(attempt.SlotStart),
			instant(attempt.BegunAt), instant(attempt.EndedAt), string(attempt.Outcome), slot,
			number(receipt.Status), orDash(receipt.Reference), orDash(attempt.Detail))
	}
	return rows.write(program.stdout)
}
