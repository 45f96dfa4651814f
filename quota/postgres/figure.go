package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The decisions that figures count.
const (
	// DecisionGranted: went, or may go, with a slot.
	DecisionGranted = "granted"
	// DecisionDeferred: refused, once per work and window.
	DecisionDeferred = "deferred"
	// DecisionWouldDefer: observed, refused, and gone all the same.
	DecisionWouldDefer = "would_defer"
	// DecisionOverridden: gone because its deadline was closing.
	DecisionOverridden = "overridden"
	// DecisionExempt: gone without ever being asked for a slot.
	DecisionExempt = "exempt"
)

// Figure is how often a window saw one decision on one flow for one reason. The
// figures are durable, so that reports need no metrics system.
type Figure struct {
	// WindowStart may be any instant of the window when adding.
	WindowStart time.Time
	Flow        string
	// Decision is one of the constants; anything else is an error.
	Decision string
	// Reason of a deferral; empty otherwise.
	Reason string
	// Count below 1 is skipped when adding.
	Count int64
}

// AddFigures adds counts to the figures, in one statement; figures of one key are
// summed. It locks the figures' rows in the order of their key, whatever the
// order given.
func (register Register) AddFigures(ctx context.Context, db Querier, figures []Figure) error {
	var instants []time.Time
	var flows, decisions, reasons []string
	var counts []int64
	for _, figure := range figures {
		if figure.Count < 1 {
			continue
		}
		instants = append(instants, figure.WindowStart)
		flows = append(flows, figure.Flow)
		decisions = append(decisions, figure.Decision)
		reasons = append(reasons, figure.Reason)
		counts = append(counts, figure.Count)
	}
	if len(counts) == 0 {
		return nil
	}
	_, err := db.Exec(ctx, addFiguresSQL,
		register.options.Window, instants, flows, decisions, reasons, counts)
	if err != nil {
		return fmt.Errorf("add quota figures: %w", err)
	}
	return nil
}

// Figures lists the figures of windows since an instant, latest window first,
// then by flow, decision and reason, at most limit.
func (register Register) Figures(
	ctx context.Context, db Querier, since time.Time, limit int,
) ([]Figure, error) {
	rows, err := db.Query(ctx, figuresSQL, since, max(0, limit))
	if err != nil {
		return nil, fmt.Errorf("list quota figures: %w", err)
	}
	figures, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Figure, error) {
		var figure Figure
		err := row.Scan(&figure.WindowStart, &figure.Flow, &figure.Decision, &figure.Reason, &figure.Count)
		figure.WindowStart = figure.WindowStart.UTC()
		return figure, err
	})
	if err != nil {
		return nil, fmt.Errorf("list quota figures: %w", err)
	}
	return figures, nil
}
