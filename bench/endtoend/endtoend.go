package endtoend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adjourn/adjourn/bench/report"
)

// Options are the choices of a run.
type Options struct {
	// Quick shrinks every size so that a run takes under a minute; its figures say
	// nothing.
	Quick bool
}

const section = "end to end"

// sizes of a run: works of each contender in a round, and rounds.
type sizes struct{ ours, bare, riverDefault, riverTuned, rounds int }

func (options Options) sizes() sizes {
	if options.Quick {
		return sizes{ours: 1000, bare: 20, riverDefault: 300, riverTuned: 1000, rounds: 1}
	}
	return sizes{ours: 30000, bare: 600, riverDefault: 10000, riverTuned: 30000, rounds: 3}
}

// The contenders' names in the sheet.
const (
	subjectOurs         = "adjourn"
	subjectBare         = "bare workflow"
	subjectRiverDefault = "river default"
	subjectRiverTuned   = "river tuned"
)

// Run measures all contenders in turn, round by round, so that what the machine
// does meanwhile falls on all of them; the figures are medians.
func Run(ctx context.Context, sheet *report.Sheet, options Options) (err error) {
	sheet.Progressf("end to end: starting Postgres and Temporal")
	stage, err := openStage(ctx)
	if err != nil {
		return fmt.Errorf("end to end: %w", err)
	}
	defer func() { err = errors.Join(err, stage.close(ctx)) }()
	contenders := stage.contenders(options.sizes())
	outcomes := map[string][]outcome{}
	for round := range options.sizes().rounds {
		for _, contender := range contenders {
			measured, err := contender.run(ctx)
			if err != nil {
				return fmt.Errorf("end to end, %s: %w", contender.name, err)
			}
			sheet.Progressf("end to end, round %d: %s, %d works, %.0f works/s, %.3f events per work",
				round+1, contender.name, measured.works, measured.rate(), measured.eventsPerWork())
			outcomes[contender.name] = append(outcomes[contender.name], measured)
		}
	}
	tell(sheet, outcomes)
	return nil
}

// contender is one way to get works done.
type contender struct {
	name string
	run  func(context.Context) (outcome, error)
}

func (stage *stage) contenders(sizes sizes) []contender {
	return []contender{
		{subjectOurs, func(ctx context.Context) (outcome, error) { return stage.ours(ctx, sizes.ours) }},
		{subjectBare, func(ctx context.Context) (outcome, error) { return stage.bare(ctx, sizes.bare) }},
		{subjectRiverDefault, func(ctx context.Context) (outcome, error) {
			return stage.river(ctx, sizes.riverDefault, riverDefault)
		}},
		{subjectRiverTuned, func(ctx context.Context) (outcome, error) {
			return stage.river(ctx, sizes.riverTuned, riverTuned)
		}},
	}
}

// tell puts the medians and the targets on the sheet. A ratio is the median of the
// rounds' ratios.
func tell(sheet *report.Sheet, outcomes map[string][]outcome) {
	for _, name := range []string{subjectOurs, subjectBare, subjectRiverDefault, subjectRiverTuned} {
		sheet.Add(report.Figure{
			Section: section, Case: "works", Subject: name, Metric: "rate", Unit: "1/s",
			Value: median(outcomes[name], outcome.rate),
		})
	}
	for _, name := range []string{subjectOurs, subjectBare} {
		sheet.Add(report.Figure{
			Section: section, Case: "works", Subject: name, Metric: "events", Unit: "per work",
			Value: median(outcomes[name], outcome.eventsPerWork),
		})
	}
	ratio := func(peer string) float64 {
		ratios := make([]float64, len(outcomes[peer]))
		for i := range ratios {
			ratios[i] = outcomes[subjectOurs][i].rate() / outcomes[peer][i].rate()
		}
		return middle(ratios)
	}
	sheet.Judge(report.Target{
		Text:   "end to end: our works/s at a chunk of 100 over a bare workflow's",
		Wanted: 40, Measured: ratio(subjectBare),
	})
	sheet.Judge(report.Target{
		Text:   "end to end: Temporal events per work",
		Wanted: 0.3, AtMost: true, Measured: median(outcomes[subjectOurs], outcome.eventsPerWork),
	})
	sheet.Judge(report.Target{
		Text: "end to end: our works/s over River's with default settings", Wanted: 1, Measured: ratio(subjectRiverDefault),
	})
	sheet.Add(report.Figure{
		Section: section, Case: "ratio", Subject: "adjourn / river tuned", Metric: "rate", Unit: "×",
		Value: ratio(subjectRiverTuned),
	})
}

func median(outcomes []outcome, value func(outcome) float64) float64 {
	values := make([]float64, len(outcomes))
	for i, outcome := range outcomes {
		values[i] = value(outcome)
	}
	return middle(values)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
