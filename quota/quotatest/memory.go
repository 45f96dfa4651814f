package quotatest

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/adjourn/adjourn/quota"
)

// MemoryOptions configures a [Memory].
type MemoryOptions struct {
	// Window is the windows' length; it must pass [quota.ValidateLength].
	Window time.Duration
	// HoldMax bounds a hold from now; zero for a day.
	HoldMax time.Duration
	// Now is the arbiter's clock; required.
	Now func() time.Time
}

// Memory is an arbiter in memory, deciding by [quota.Decide]. Safe for concurrent
// use.
type Memory struct {
	options MemoryOptions

	mutex     sync.Mutex
	counts    map[time.Time]int
	heldUntil time.Time
	once      map[string]reservation
	broken    error
}

type reservation struct {
	windowStart time.Time
	spent       bool
}

var _ quota.Arbiter = (*Memory)(nil)

// NewMemory returns an arbiter with nothing taken.
func NewMemory(options MemoryOptions) *Memory {
	if options.HoldMax <= 0 {
		options.HoldMax = quota.Day
	}
	return &Memory{
		options: options,
		counts:  make(map[time.Time]int),
		once:    make(map[string]reservation),
	}
}

// Break makes every call fail with err until it is called with nil.
func (memory *Memory) Break(err error) {
	memory.mutex.Lock()
	defer memory.mutex.Unlock()
	memory.broken = err
}

// enter locks the arbiter and tells whether it can be asked; leave it by
// unlocking in either case.
func (memory *Memory) enter(ctx context.Context) error {
	memory.mutex.Lock()
	if memory.broken != nil {
		return memory.broken
	}
	return ctx.Err()
}

// usage needs the lock.
func (memory *Memory) usage() quota.Usage {
	now := memory.options.Now()
	window := quota.WindowAt(now, memory.options.Window)
	usage := quota.Usage{Window: window, Now: now, Count: memory.counts[window.Start]}
	if memory.heldUntil.After(now) {
		usage.HeldUntil = memory.heldUntil
	}
	return usage
}

// reserve needs the lock.
func (memory *Memory) reserve(ceiling int32, slots int) quota.Grant {
	grant := quota.Decide(memory.usage(), ceiling, slots)
	if grant.Slots > 0 {
		memory.counts[grant.Window.Start] = grant.Count
	}
	return grant
}

// Reserve implements [quota.Arbiter].
func (memory *Memory) Reserve(ctx context.Context, ceiling int32, slots int) (quota.Grant, error) {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil {
		return quota.Grant{}, err
	}
	return memory.reserve(ceiling, slots), nil
}

// ReserveOnce implements [quota.Arbiter].
func (memory *Memory) ReserveOnce(ctx context.Context, ceiling int32, key string) (quota.Grant, error) {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil {
		return quota.Grant{}, err
	}
	if err := quota.ValidateKey(key); err != nil {
		return quota.Grant{}, err
	}
	usage := memory.usage()
	kept, known := memory.once[key]
	if known && !kept.spent && kept.windowStart.Equal(usage.Window.Start) && ceiling >= 1 && !usage.Held() {
		return quota.Answer(usage, ceiling, 1, 1), nil
	}
	grant := memory.reserve(ceiling, 1)
	if grant.Slots == 1 {
		memory.once[key] = reservation{windowStart: grant.Window.Start}
	}
	return grant, nil
}

// SpendOnce implements [quota.Arbiter].
func (memory *Memory) SpendOnce(ctx context.Context, key string) error {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil {
		return err
	}
	if kept, known := memory.once[key]; known {
		kept.spent = true
		memory.once[key] = kept
	}
	return nil
}

// Charge implements [quota.Arbiter].
func (memory *Memory) Charge(ctx context.Context, windowStart time.Time, emissions int) error {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil || emissions < 1 {
		return err
	}
	window := quota.WindowAt(windowStart, memory.options.Window)
	count := memory.counts[window.Start]
	memory.counts[window.Start] = count + min(emissions, math.MaxInt32-count)
	return nil
}

// Hold implements [quota.Arbiter].
func (memory *Memory) Hold(ctx context.Context, until time.Time) error {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil {
		return err
	}
	if bound := memory.options.Now().Add(memory.options.HoldMax); until.After(bound) {
		until = bound
	}
	if until.After(memory.heldUntil) {
		memory.heldUntil = until
	}
	return nil
}

// Usage implements [quota.Arbiter].
func (memory *Memory) Usage(ctx context.Context) (quota.Usage, error) {
	err := memory.enter(ctx)
	defer memory.mutex.Unlock()
	if err != nil {
		return quota.Usage{}, err
	}
	return memory.usage(), nil
}
