package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/adjourn/adjourn/quota"
)

// timeoutDefault bounds one call to the database when [Options.Timeout] is zero.
const timeoutDefault = 5 * time.Second

// Options of the register, the arbiter and the cadence.
type Options struct {
	// Window is the windows' length. All processes that share a database must
	// agree on it; it must pass [quota.ValidateLength].
	Window time.Duration
	// HoldMax bounds a hold from now; zero or less is a day.
	HoldMax time.Duration
	// Timeout bounds one call of the arbiter or the cadence, the wait for a
	// connection included; zero or less is five seconds. The register leaves time
	// to its caller's context.
	Timeout time.Duration
}

// withDefaults panics when the window's length is off the grid: no statement may
// ever run with it.
func (options Options) withDefaults() Options {
	if err := quota.ValidateLength(options.Window); err != nil {
		panic(err)
	}
	if options.HoldMax <= 0 {
		options.HoldMax = quota.Day
	}
	if options.Timeout <= 0 {
		options.Timeout = timeoutDefault
	}
	return options
}

// Querier runs statements; a pool, a connection and a transaction each fit.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Register is the quota's statements, to be run on whatever the caller brings: a
// transaction that marks works along with their slots, or a pool. It holds no
// state; use [NewRegister]. Safe for concurrent use.
type Register struct {
	options Options
}

// NewRegister panics when the window's length does not pass
// [quota.ValidateLength].
func NewRegister(options Options) Register {
	return Register{options: options.withDefaults()}
}

// Window is the windows' length.
func (register Register) Window() time.Duration { return register.options.Window }

// Reserve takes up to slots slots of the present window under ceiling, in one
// statement. A refusal is a grant of fewer, writes no WAL and locks no row, but
// for the few that raced for the last slot. In a transaction the window's row
// stays locked until it ends, so make this its last lock but for the figures. A
// transaction rolled back gives the slots back.
func (register Register) Reserve(
	ctx context.Context, db Querier, ceiling int32, slots int,
) (quota.Grant, error) {
	return register.reserve(ctx, db, reserveSQL, ceiling, slots)
}

func (register Register) reserve(
	ctx context.Context, db Querier, statement string, ceiling int32, slots int,
) (quota.Grant, error) {
	asked := int32(min(max(0, slots), math.MaxInt32))
	row := db.QueryRow(ctx, statement, register.options.Window, ceiling, asked)
	grant, err := register.scanGrant(row, ceiling, slots)
	if err != nil {
		return quota.Grant{}, fmt.Errorf("reserve quota: %w", err)
	}
	return grant, nil
}

// scanGrant reads the row that reserve.sql and reserve_once.sql answer with.
func (register Register) scanGrant(row pgx.Row, ceiling int32, slots int) (quota.Grant, error) {
	after := quota.Usage{Window: quota.Window{Length: register.options.Window}}
	var granted int
	var heldUntil *time.Time
	err := row.Scan(&after.Window.Start, &after.Now, &granted, &after.Count, &heldUntil)
	if err != nil {
		return quota.Grant{}, err
	}
	after.Window.Start, after.Now = after.Window.Start.UTC(), after.Now.UTC()
	after.HeldUntil = utcOrZero(heldUntil)
	return quota.Answer(after, ceiling, slots, granted), nil
}

// Charge counts emissions that left without a slot in the window of windowStart,
// which is floored to the grid. Fewer than one change nothing. The count stops at
// the highest ceiling there is.
func (register Register) Charge(
	ctx context.Context, db Querier, windowStart time.Time, emissions int,
) error {
	if emissions < 1 {
		return nil
	}
	_, err := db.Exec(ctx, chargeSQL,
		register.options.Window, windowStart, int32(min(emissions, math.MaxInt32)))
	if err != nil {
		return fmt.Errorf("charge quota: %w", err)
	}
	return nil
}

// Hold refuses every reservation until the given instant, at most
// [Options.HoldMax] from now; an earlier instant than the present hold's, or one
// that is past, changes nothing.
func (register Register) Hold(ctx context.Context, db Querier, until time.Time) error {
	if _, err := db.Exec(ctx, holdSQL, until, register.options.HoldMax); err != nil {
		return fmt.Errorf("hold quota: %w", err)
	}
	return nil
}

// Usage reads the present window without taking or locking anything.
func (register Register) Usage(ctx context.Context, db Querier) (quota.Usage, error) {
	usage := quota.Usage{Window: quota.Window{Length: register.options.Window}}
	var heldUntil *time.Time
	err := db.QueryRow(ctx, usageSQL, register.options.Window).
		Scan(&usage.Window.Start, &usage.Now, &usage.Count, &heldUntil)
	if err != nil {
		return quota.Usage{}, fmt.Errorf("read quota usage: %w", err)
	}
	usage.Window.Start, usage.Now = usage.Window.Start.UTC(), usage.Now.UTC()
	usage.HeldUntil = utcOrZero(heldUntil)
	return usage, nil
}

// Windows lists the windows since an instant that hold anything, latest first, at
// most limit. HeldUntil is left zero.
func (register Register) Windows(
	ctx context.Context, db Querier, since time.Time, limit int,
) ([]quota.Usage, error) {
	rows, err := db.Query(ctx, windowsSQL, since, max(0, limit))
	if err != nil {
		return nil, fmt.Errorf("list quota windows: %w", err)
	}
	windows, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (quota.Usage, error) {
		usage := quota.Usage{Window: quota.Window{Length: register.options.Window}}
		err := row.Scan(&usage.Window.Start, &usage.Now, &usage.Count)
		usage.Window.Start, usage.Now = usage.Window.Start.UTC(), usage.Now.UTC()
		return usage, err
	})
	if err != nil {
		return nil, fmt.Errorf("list quota windows: %w", err)
	}
	return windows, nil
}

func utcOrZero(instant *time.Time) time.Time {
	if instant == nil {
		return time.Time{}
	}
	return instant.UTC()
}
