package dispatch

import (
	"cmp"
	"context"
	"time"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// RoundsMax bounds the batches one step takes in one pass.
const RoundsMax = 10

// Register is what a pass asks of the works' register beside admission.
type Register interface {
	Recover(ctx context.Context, options work.RecoverOptions) (work.Recovery, error)
	ChooseExempt(ctx context.Context, options work.ExemptOptions) ([]work.Carriage, error)
	// Prune deletes what is older than retention, at most limit works, and tells
	// how many.
	Prune(ctx context.Context, retention time.Duration, limit int) (int, error)
}

// Overrides chooses urgent works, on connections of its own and naming no table
// of the quota (G2).
type Overrides interface {
	ChooseOverrides(ctx context.Context, options work.OverrideOptions) ([]work.Carriage, error)
}

// Slots are the arbiter's, as far as a pass cleans up after them.
type Slots interface {
	// PruneOnce forgets at most limit reservations under a key whose window is
	// over, and tells how many.
	PruneOnce(ctx context.Context, limit int) (int, error)
}

// Starter starts the workflow of a carriage. A workflow that is running already
// is not an error.
type Starter interface {
	Start(ctx context.Context, carriage work.Carriage) (already bool, err error)
}

// Meter is told what passes decide and start. It must not block.
type Meter interface {
	// Admission counts what became of one batch of governed works.
	Admission(batch work.AdmissionBatch)
	// Reserved takes note of how long one admission took.
	Reserved(took time.Duration)
	// Overridden and Exempted count works by flow as they are chosen.
	Overridden(chosen work.Tally)
	Exempted(chosen work.Tally)
	// Started counts the workflows of one batch.
	Started(lane work.Lane, started, running, failed int)
	// Recovered counts what was left behind.
	Recovered(recovery work.Recovery)
}

// Options of a pass; zero fields take the default.
type Options struct {
	// Batch is how many works one round chooses; default 500.
	Batch int
	// Chunk is how many works one workflow carries; default 20.
	Chunk int
	// StartLimit is how many workflows are being started at once; default 16.
	StartLimit int
	// StartTimeout of one start; default 10 s.
	StartTimeout time.Duration
	// StatementTimeout of one statement or transaction; default 15 s.
	StatementTimeout time.Duration
	// Margin before a deadline within which it is closing; zero waits for the
	// deadline itself.
	Margin time.Duration
	// Window is the length of the quota's windows. Required.
	Window time.Duration
	// RestartAfter is how long an admitted work may stand still before its
	// workflow is started again; default 1 min.
	RestartAfter time.Duration
	// NoRetryFlows are exempt flows that are never attempted twice.
	NoRetryFlows []string
	// Backoff of attempts that were lost; default 1 s, at most 5 min.
	Backoff work.Backoff
	// Retention of finished works; zero keeps them.
	Retention time.Duration
}

func (options Options) withDefaults() Options {
	options.Batch = cmp.Or(options.Batch, 500)
	options.Chunk = cmp.Or(options.Chunk, 20)
	options.StartLimit = cmp.Or(options.StartLimit, 16)
	options.StartTimeout = cmp.Or(options.StartTimeout, 10*time.Second)
	options.StatementTimeout = cmp.Or(options.StatementTimeout, 15*time.Second)
	options.RestartAfter = cmp.Or(options.RestartAfter, time.Minute)
	options.Backoff.Base = cmp.Or(options.Backoff.Base, time.Second)
	options.Backoff.Max = cmp.Or(options.Backoff.Max, 5*time.Minute)
	return options
}

// Activities of the pass. Safe for concurrent use.
type Activities struct {
	Register  Register
	Overrides Overrides
	Admitter  work.Admitter
	Starter   Starter
	Slots     Slots
	// Policy in force; asked at each step. It must answer from memory or be
	// bounded, and name no table of the quota.
	Policy  func(ctx context.Context) (quota.Policy, error)
	Meter   Meter
	Options Options
}
