package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/adjourn/adjourn/work"
)

// report waits for accounting to catch up, gathers what was seen and judges it.
func (run *run) report(ctx context.Context) (Report, error) {
	settleCtx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		report, err := run.gather(ctx)
		if err != nil {
			return Report{}, err
		}
		if report.settled() || settleCtx.Err() != nil {
			report.Judge()
			return report, nil
		}
		select {
		case <-time.After(pollInterval):
		case <-settleCtx.Done():
		}
	}
}

// settled tells whether our figures have caught up with the third party's log.
func (report Report) settled() bool {
	return !slices.ContainsFunc(report.Windows, func(window Window) bool {
		return window.Overridden != window.ThirdParty.Override || window.Exempt != window.ThirdParty.Exempt
	})
}

func (run *run) gather(ctx context.Context) (Report, error) {
	report := Report{Submitted: run.submitted}
	if err := run.gatherWorks(ctx, &report); err != nil {
		return Report{}, err
	}
	party := run.Playground.Stack.ThirdParty
	for _, gap := range party.Gaps() {
		report.SequenceGaps += int(gap.To - gap.From + 1)
	}
	report.DuplicateEffects = len(party.DuplicateEffects())
	windows, err := run.gatherWindows(ctx)
	if err != nil {
		return Report{}, err
	}
	report.Windows = windows
	return report, nil
}

func (run *run) gatherWorks(ctx context.Context, report *Report) error {
	counts, err := run.Playground.Works.Counts(ctx)
	if err != nil {
		return err
	}
	for _, count := range counts {
		switch count.State {
		case work.Emitted:
			report.Emitted += int(count.Works)
		case work.Failed:
			report.Failed += int(count.Works)
		case work.Pending, work.Admitted, work.Attempting:
			report.Pending += int(count.Works)
		case work.Cancelled: // lost, as far as the demo is concerned
		}
	}
	return nil
}

func (run *run) gatherWindows(ctx context.Context) ([]Window, error) {
	figures, err := run.Playground.Quota.Figures(ctx, run.Playground.Pool, run.since, figuresMax)
	if err != nil {
		return nil, fmt.Errorf("read the figures: %w", err)
	}
	windows := map[int64]*Window{}
	at := func(start time.Time) *Window {
		if windows[start.Unix()] == nil {
			windows[start.Unix()] = &Window{
				WindowStart: start.UTC(), Ceiling: Ceiling, Enforced: !start.Before(run.enforcedSince),
			}
		}
		return windows[start.Unix()]
	}
	for _, figure := range figures {
		window := at(figure.WindowStart)
		switch figure.Decision {
		case "granted":
			window.Granted += int(figure.Count)
		case "deferred":
			window.Deferred += int(figure.Count)
		case "would_defer":
			window.WouldDefer += int(figure.Count)
		case "overridden":
			window.Overridden += int(figure.Count)
		case "exempt":
			window.Exempt += int(figure.Count)
		}
	}
	for _, count := range run.Playground.Stack.ThirdParty.CountByWindow(run.window) {
		at(count.Start).ThirdParty = ThirdParty{
			Governed: count.Lanes[string(work.Governed)],
			Override: count.Lanes[string(work.Override)],
			Exempt:   count.Lanes[string(work.Exempt)],
		}
	}
	sorted := make([]Window, 0, len(windows))
	for _, window := range windows {
		sorted = append(sorted, *window)
	}
	slices.SortFunc(sorted, func(a, b Window) int { return a.WindowStart.Compare(b.WindowStart) })
	return sorted, nil
}
