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
)

func (program *program) quotaCommand() *cobra.Command {
	return group(&cobra.Command{Use: "quota", Short: "Look at the shared budget"}, program.quotaShowCommand())
}

// figuresMax bounds the figures read of one window: a row per flow, decision and
// reason.
const figuresMax = 10_000

// quotaView is what `quota show` prints.
type quotaView struct {
	Now         time.Time `json:"now"`
	WindowStart time.Time `json:"window_start"`
	WindowEnd   time.Time `json:"window_end"`
	ResetsIn    float64   `json:"resets_in_seconds"`
	Used        int       `json:"used"`
	// Ceiling is 0, which refuses every enforced work, when it is not set.
	Ceiling    int32         `json:"ceiling"`
	CeilingSet bool          `json:"ceiling_set"`
	Remaining  int           `json:"remaining"`
	HeldUntil  time.Time     `json:"held_until,omitzero"`
	Flows      []flowFigures `json:"flows"`
}

// flowFigures is what the window saw of one flow.
type flowFigures struct {
	Flow      string          `json:"flow"`
	Treatment quota.Treatment `json:"treatment"`
	Granted   int64           `json:"granted"`
	Deferred  int64           `json:"deferred"`
	// DeferredBy are the deferrals by reason.
	DeferredBy map[string]int64 `json:"deferred_by,omitempty"`
	WouldDefer int64            `json:"would_defer"`
	Overridden int64            `json:"overridden"`
	Exempt     int64            `json:"exempt"`
}

func (program *program) quotaShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show",
		Short: "Show the current window: used, ceiling, remaining, when it resets, and what it did to each flow",
		Args:  noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		cfg, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		view, err := readQuota(command.Context(), cfg, db)
		if err != nil {
			return app.ExplainDatabase(err)
		}
		if *output == jsonFormat {
			return writeJSON(program.stdout, view)
		}
		return program.printQuota(view)
	}
	return command
}

func readQuota(ctx context.Context, cfg config.Config, db *pgxpool.Pool) (quotaView, error) {
	register := quotapostgres.NewRegister(app.QuotaOptions(cfg))
	usage, err := register.Usage(ctx, db)
	if err != nil {
		return quotaView{}, err
	}
	figures, err := register.Figures(ctx, db, usage.Window.Start, figuresMax)
	if err != nil {
		return quotaView{}, err
	}
	policy := app.Policy(cfg)
	view := quotaView{
		Now: usage.Now, WindowStart: usage.Window.Start, WindowEnd: usage.Window.End(),
		ResetsIn: usage.Window.End().Sub(usage.Now).Seconds(),
		Used:     usage.Count, Ceiling: policy.Ceiling, CeilingSet: cfg.Quota.Ceiling.Set,
		Remaining: usage.Remaining(policy.Ceiling), Flows: flowsOf(policy, figures),
	}
	if usage.HeldUntil.After(usage.Now) {
		view.HeldUntil = usage.HeldUntil
	}
	return view, nil
}

// flowsOf sums the figures by flow: those the operator named, in any case, and
// those the window saw, in order of their names.
func flowsOf(policy quota.Policy, figures []quotapostgres.Figure) []flowFigures {
	byFlow := map[string]*flowFigures{}
	of := func(flow string) *flowFigures {
		if byFlow[flow] == nil {
			byFlow[flow] = &flowFigures{Flow: flow, Treatment: policy.Treatment(flow), DeferredBy: map[string]int64{}}
		}
		return byFlow[flow]
	}
	for _, flow := range append(policy.Governed(), policy.ExemptFlows...) {
		of(flow)
	}
	for _, figure := range figures {
		flow := of(figure.Flow)
		switch figure.Decision {
		case quotapostgres.DecisionGranted:
			flow.Granted += figure.Count
		case quotapostgres.DecisionDeferred:
			flow.Deferred += figure.Count
			flow.DeferredBy[figure.Reason] += figure.Count
		case quotapostgres.DecisionWouldDefer:
			flow.WouldDefer += figure.Count
		case quotapostgres.DecisionOverridden:
			flow.Overridden += figure.Count
		case quotapostgres.DecisionExempt:
			flow.Exempt += figure.Count
		}
	}
	flows := []flowFigures{}
	for _, name := range sortedKeys(byFlow) {
		flows = append(flows, *byFlow[name])
	}
	return flows
}

func (program *program) printQuota(view quotaView) error {
	facts := table{}
	facts.add("window", instant(view.WindowStart)+" to "+instant(view.WindowEnd))
	facts.add("resets in", span(time.Duration(view.ResetsIn*float64(time.Second))))
	facts.add("used", strconv.Itoa(view.Used))
	if view.CeilingSet {
		facts.add("ceiling", strconv.Itoa(int(view.Ceiling)))
	} else {
		facts.add("ceiling", "not set (QUOTA_HOURLY_CEILING): nothing is granted")
	}
	facts.add("remaining", strconv.Itoa(view.Remaining))
	if !view.HeldUntil.IsZero() {
		facts.add("held until", instant(view.HeldUntil)+", as the third party asked")
	}
	if err := facts.write(program.stdout); err != nil {
		return err
	}
	if len(view.Flows) == 0 {
		return nil
	}
	rows := table{title: "this window", header: []string{
		"FLOW", "TREATMENT", "GRANTED", "DEFERRED", "WOULD DEFER", "OVERRIDDEN", "EXEMPT",
	}}
	for _, flow := range view.Flows {
		rows.add(flow.Flow, string(flow.Treatment), count(flow.Granted), count(flow.Deferred),
			count(flow.WouldDefer), count(flow.Overridden), count(flow.Exempt))
	}
	return rows.write(program.stdout)
}
