package attempt

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/work"
)

// Meter is told how attempts end. It must not block.
type Meter interface {
	// Attempted counts one call to the third party; late when it was emitted
	// after its deadline.
	Attempted(flow string, lane work.Lane, outcome work.Outcome, late bool)
	// Unrecorded counts endings that could not be written.
	Unrecorded(lane work.Lane, endings int)
}

// Silent is a meter that counts nothing.
type Silent struct{}

// Attempted does nothing.
func (Silent) Attempted(string, work.Lane, work.Outcome, bool) {}

// Unrecorded does nothing.
func (Silent) Unrecorded(work.Lane, int) {}

// Options of the lanes; zero fields take the default.
type Options struct {
	// Timeout of one call to the third party; default 10 s.
	Timeout time.Duration
	// RecordMargin is how long after Timeout an attempt counts as in flight, so
	// that its ending can be written; default 5 s.
	RecordMargin time.Duration
	// RecordFor bounds how long one ending is tried to be written; default 30 s.
	RecordFor time.Duration
	// StatementTimeout of one statement to the register; default 5 s.
	StatementTimeout time.Duration
	// Guard is how much of a slot's window must be left for an attempt, and
	// Window the window's length; governed lane only. A first byte leaves at
	// least half the guard before the window ends.
	Guard, Window time.Duration
	// Backoff of works whose attempt is spent; default 1 s, at most 5 min.
	Backoff work.Backoff
	// HoldDefault is how long a limit holds that named no delay; default the
	// back-off's base.
	HoldDefault time.Duration
}

// WithDefaults fills the zero fields.
func (options Options) WithDefaults() Options {
	options.Timeout = cmp.Or(options.Timeout, 10*time.Second)
	options.RecordMargin = cmp.Or(options.RecordMargin, 5*time.Second)
	options.RecordFor = cmp.Or(options.RecordFor, 30*time.Second)
	options.StatementTimeout = cmp.Or(options.StatementTimeout, 5*time.Second)
	options.Backoff.Base = cmp.Or(options.Backoff.Base, time.Second)
	options.Backoff.Max = cmp.Or(options.Backoff.Max, 5*time.Minute)
	options.HoldDefault = cmp.Or(options.HoldDefault, options.Backoff.Base)
	return options
}

// SurelyOver is how long after it began an attempt can no longer be in flight.
func (options Options) SurelyOver() time.Duration { return options.Timeout + options.RecordMargin }

// Engine makes the attempts of one lane. Safe for concurrent use.
type Engine struct {
	// Recorder and Emitter are required.
	Recorder work.Recorder
	Emitter  emitter.Emitter
	// Meter; [Silent] when nil.
	Meter   Meter
	Options Options
	// Sent is told of each attempt that may have reached the third party, right
	// after the call. It must not block. Nil tells nobody.
	Sent func(work.Emission)
	// Limited is told until when the third party asked to wait, before the
	// ending is recorded; it must be bounded. Nil tells nobody.
	Limited func(ctx context.Context, until time.Time)
	// Random returns a uniform fraction in [0, 1) for the jitter; nil is
	// math/rand.
	Random func() float64
}

func (engine Engine) withDefaults() Engine {
	engine.Options = engine.Options.WithDefaults()
	if engine.Meter == nil {
		engine.Meter = Silent{}
	}
	if engine.Sent == nil {
		engine.Sent = func(work.Emission) {}
	}
	if engine.Limited == nil {
		engine.Limited = func(context.Context, time.Time) {}
	}
	if engine.Random == nil {
		engine.Random = rand.Float64
	}
	return engine
}
