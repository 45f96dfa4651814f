package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// settingQuotaWindow names the setting that all processes must agree on.
const settingQuotaWindow = "quota_window"

// windowTimeout bounds reading and writing it.
const windowTimeout = 10 * time.Second

// WindowError tells that a process counts in windows of another length than the
// platform: its budget would be one of its own, beside the others'.
type WindowError struct {
	// Have is what the platform was set up with, Want what this process was
	// started with; both as Go durations.
	Have, Want string
}

// Error names both lengths and what to do.
func (err *WindowError) Error() string {
	return fmt.Sprintf("QUOTA_WINDOW is %s, but the platform counts in windows of %s: start with QUOTA_WINDOW=%s, "+
		"or stop all workers and run `adjourn setup` with the new length", err.Want, err.Have, err.Have)
}

// agreeOnWindow returns a [*WindowError] unless the platform counts in windows of
// this length. The first process to ask decides where no setup has.
func agreeOnWindow(ctx context.Context, db *pgxpool.Pool, window time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()
	var have string
	err := db.QueryRow(ctx, `
WITH first AS (
    INSERT INTO adjourn.setting (name, value) VALUES ($1, $2)
    -- Somebody decided before.
    ON CONFLICT (name) DO NOTHING
    RETURNING value
)
SELECT value FROM first UNION ALL SELECT value FROM adjourn.setting WHERE name = $1 LIMIT 1`,
		settingQuotaWindow, window.String()).Scan(&have)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // another process decided at this very moment
		return agreeOnWindow(ctx, db, window)
	case err != nil:
		return ExplainDatabase(fmt.Errorf("read the length of the quota's windows: %w", err))
	case have != window.String():
		return &WindowError{Have: have, Want: window.String()}
	}
	return nil
}

// setUpWindow makes the platform count in windows of this length.
func setUpWindow(ctx context.Context, db *pgxpool.Pool, window time.Duration) Step {
	step := Step{Name: "database setting " + settingQuotaWindow}
	var created bool
	err := db.QueryRow(ctx, `
INSERT INTO adjourn.setting AS s (name, value) VALUES ($1, $2)
-- An unchanged setting is not written again.
ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value WHERE s.value <> EXCLUDED.value
RETURNING xmax = 0`, settingQuotaWindow, window.String()).Scan(&created)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return step.ended(AlreadyThere, nil)
	case err != nil:
		return step.ended(Failed, ExplainDatabase(err))
	case created:
		return step.ended(Created, nil)
	}
	return step.ended(Updated, nil)
}
