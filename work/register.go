package work

import (
	"context"
	"time"
)

// BeginOptions names the works of one carriage whose attempts are about to
// begin.
type BeginOptions struct {
	Lane       Lane
	WorkflowID string
	IDs        []ID
	// Guard is how much of the slot's window must be left; Window is the
	// window's length. Governed lane only.
	Guard, Window time.Duration
	// Timeout of one attempt, after which it is surely over.
	Timeout time.Duration
	// NoRetry leaves attempts that were lost alone: their works stay busy until a
	// recovery fails them. Otherwise the override and exempt lanes take such a
	// work over once its attempt is surely over.
	NoRetry bool
}

// Begun is what became of each work asked to begin; every asked ID is in
// exactly one of its parts.
type Begun struct {
	// Attempts are numbered and marked: each must be made and recorded.
	Attempts []Attempt
	// Refused went back to pending because their slot's window is over.
	Refused []Result
	// Gone are no longer this carriage's: finished, failed, pending, or carried
	// by another workflow.
	Gone []ID
	// Busy have an attempt in flight that may still end.
	Busy []Busy
}

// Busy is a work whose earlier attempt may still be in flight.
type Busy struct {
	ID ID
	// Until is when that attempt is surely over.
	Until time.Time
}

// ReleaseOptions names admitted works of one governed workflow that will not
// begin in their slot's window.
type ReleaseOptions struct {
	WorkflowID string
	IDs        []ID
	Reason     string
}

// RecoverOptions bounds one recovery.
type RecoverOptions struct {
	// Window is the length of the quota's windows.
	Window time.Duration
	// RestartAfter is how long an admitted work may stand still before its
	// workflow is started again.
	RestartAfter time.Duration
	// NoRetryFlows are exempt flows that are never attempted twice.
	NoRetryFlows []string
	// Backoff of attempts that were lost.
	Backoff Backoff
	// Limit of works touched by each part of the recovery.
	Limit int
}

// OverrideOptions says which works are urgent.
type OverrideOptions struct {
	// Flows that are governed; others need no override.
	Flows []string
	// Margin before a deadline within which it is closing.
	Margin time.Duration
	// RestartAfter is how long a granted work may stand still before the
	// override lane takes it over.
	RestartAfter time.Duration
	// Limit of works chosen.
	Limit int
}

// ExemptOptions says which works are exempt.
type ExemptOptions struct {
	// Governed flows; all others are exempt.
	Governed []string
	// Limit of works chosen; Chunk is how many one workflow carries.
	Limit, Chunk int
}

// AdmitOptions bounds one admission of governed works.
type AdmitOptions struct {
	// Limit of works considered; Chunk is how many one workflow carries.
	Limit, Chunk int
	// IDs restricts the admission to these works; all when empty.
	IDs []ID
	// WorkflowID carries the admitted works; only with IDs. When empty each
	// chunk gets its own.
	WorkflowID string
}

// Recorder begins attempts and records their endings; one per lane, each on its
// own connections. Safe for concurrent use.
type Recorder interface {
	// Begin numbers and marks the works that may be attempted now, in one
	// statement.
	Begin(ctx context.Context, options BeginOptions) (Begun, error)
	// Record writes the endings of begun attempts, in one statement, and returns
	// the works it recorded; an ending that came too late is left out.
	Record(ctx context.Context, lane Lane, endings []Ending) ([]ID, error)
}

// Admitter reserves slots for governed works and marks them, in one transaction.
// It answers from what it can reach: with the arbiter in error, enforced works
// are deferred and observed ones go (G8), without an error. Safe for concurrent
// use.
type Admitter interface {
	Admit(ctx context.Context, options AdmitOptions) (AdmissionBatch, error)
}

// Releaser gives governed works back before their attempts began. Safe for
// concurrent use.
type Releaser interface {
	// Release makes works pending again that the workflow carries and that are
	// still admitted, and returns them; their slots are wasted. Others are left
	// alone.
	Release(ctx context.Context, options ReleaseOptions) ([]ID, error)
}
