package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/internal/app"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

func (program *program) flowCommand() *cobra.Command {
	return group(&cobra.Command{Use: "flow", Short: "Look at the types of works"}, program.flowListCommand())
}

// flowView is one flow as `flow list` prints it.
type flowView struct {
	Flow      string          `json:"flow"`
	Treatment quota.Treatment `json:"treatment"`
	// Known flows are named in QUOTA_ENFORCE or QUOTA_EXEMPT_FLOWS; others are
	// exempt without anyone having said so.
	Known bool `json:"known"`
	// Works by state; emitted and cancelled ones within their retention.
	Works map[work.State]int64 `json:"works"`
}

func (program *program) flowListCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List flows: whether they are enforced, observed or exempt, and their works by state",
		Args:  noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		cfg, db, err := openDatabase(command.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		counts, err := workpostgres.New(db).Counts(command.Context())
		if err != nil {
			return app.ExplainDatabase(err)
		}
		return program.printFlows(*output, viewFlows(app.Policy(cfg), counts))
	}
	return command
}

func viewFlows(policy quota.Policy, counts []work.Count) []flowView {
	byFlow := map[string]flowView{}
	of := func(flow string) flowView {
		if view, there := byFlow[flow]; there {
			return view
		}
		byFlow[flow] = flowView{
			Flow: flow, Treatment: policy.Treatment(flow), Known: policy.Known(flow), Works: map[work.State]int64{},
		}
		return byFlow[flow]
	}
	for _, flow := range append(policy.Governed(), policy.ExemptFlows...) {
		of(flow)
	}
	for _, count := range counts {
		of(count.Flow).Works[count.State] += count.Works
	}
	views := []flowView{}
	for _, name := range sortedKeys(byFlow) {
		views = append(views, byFlow[name])
	}
	return views
}

func (program *program) printFlows(output format, views []flowView) error {
	if output == jsonFormat {
		return writeJSON(program.stdout, views)
	}
	rows := table{header: []string{
		"FLOW", "TREATMENT", "PENDING", "ADMITTED", "ATTEMPTING", "EMITTED", "FAILED", "CANCELLED",
	}}
	for _, view := range views {
		treatment := string(view.Treatment)
		if !view.Known {
			treatment += " (not named)"
		}
		cells := []string{view.Flow, treatment}
		for _, state := range work.States() {
			cells = append(cells, count(view.Works[state]))
		}
		rows.add(cells...)
	}
	return rows.write(program.stdout)
}

func sortedKeys[V any](values map[string]V) []string { return slices.Sorted(maps.Keys(values)) }

// count prints how many.
func count(value int64) string { return strconv.FormatInt(value, 10) }
