package work

import (
	"fmt"
	"strconv"
	"time"
)

// ID identifies a work; positive, ascending by arrival.
type ID int64

// String is the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// State is where a work stands; see the package comment for the arrows.
type State string

// The states of a work.
const (
	Pending    State = "pending"
	Admitted   State = "admitted"
	Attempting State = "attempting"
	Emitted    State = "emitted"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// States lists every state, in the order of a work's life.
func States() []State {
	return []State{Pending, Admitted, Attempting, Emitted, Failed, Cancelled}
}

// CanBecome tells whether a work may go from state to next in one step.
func (state State) CanBecome(next State) bool {
	switch state {
	case Pending:
		return next == Admitted || next == Cancelled || next == Emitted
	case Admitted:
		return next == Attempting || next == Pending || next == Cancelled || next == Emitted
	case Attempting:
		return next == Emitted || next == Failed || next == Pending || next == Admitted
	case Failed:
		return next == Pending || next == Cancelled || next == Emitted
	case Emitted, Cancelled:
		return false
	}
	return false
}

// Finished tells whether nothing happens to the work any more.
func (state State) Finished() bool { return state == Emitted || state == Cancelled }

// Lane is how a work travels.
type Lane string

// The lanes.
const (
	// Governed works need a slot of the current window.
	Governed Lane = "governed"
	// Override carries works whose deadline is closing, outside the arbiter.
	Override Lane = "override"
	// Exempt carries flows that are never throttled.
	Exempt Lane = "exempt"
)

// Lanes lists every lane.
func Lanes() []Lane { return []Lane{Governed, Override, Exempt} }

// Admission is how a governed work was let through.
type Admission string

// The admissions.
const (
	// Granted: it holds a slot.
	Granted Admission = "granted"
	// WouldDefer: observed, beyond the ceiling; enforcing would have deferred it.
	WouldDefer Admission = "would_defer"
)

// Work is one unit to be emitted, as the register knows it.
type Work struct {
	ID             ID
	Flow           string
	Stream         string
	Deadline       time.Time // zero without one
	IdempotencyKey string
	State          State
	Lane           Lane   // while admitted or attempting, and once emitted
	WorkflowID     string // of the workflow that carries it
	CarriedSince   time.Time
	SlotStart      time.Time // window of its slot; governed lane only
	Admission      Admission
	Enforced       bool
	Number         int64 // zero until allocated
	Attempts       int
	AttemptBegunAt time.Time
	// AttemptExpiresAt is when the attempt in flight is surely over.
	AttemptExpiresAt time.Time
	NotBefore        time.Time // end of its back-off
	Outcome          Outcome   // of the last attempt or decision
	Reason           string
	Detail           string
	Receipt          Receipt // once emitted
	Late             bool    // emitted after its deadline
	CreatedAt        time.Time
	FinishedAt       time.Time
}

// Receipt is what is kept of the third party's answer.
type Receipt struct {
	Status    int
	Reference string
	Answer    string
}

// Ref is what travels through Temporal of a work: never its payload (G10).
type Ref struct {
	ID       ID        `json:"id"`
	Flow     string    `json:"flow"`
	Deadline time.Time `json:"deadline,omitzero"`
}

// Carriage is one workflow's load: the works of one lane that start together.
type Carriage struct {
	Lane       Lane
	WorkflowID string
	// SlotStart is the window all its slots belong to; governed lane only.
	SlotStart time.Time
	Works     []Ref
}

// GovernedWorkflowID names the workflow that carries a chunk of granted works:
// deterministic, so that starting it twice is starting it once.
func GovernedWorkflowID(slotStart time.Time, first ID) string {
	return fmt.Sprintf("adjourn/governed/%s/%d", slotStart.UTC().Format(time.RFC3339), first)
}

// OverrideWorkflowID names the workflow that carries one urgent work, alone.
func OverrideWorkflowID(id ID) string { return fmt.Sprintf("adjourn/override/%d", id) }

// ExemptWorkflowID names the workflow that carries a chunk of an exempt flow.
func ExemptWorkflowID(first ID) string { return fmt.Sprintf("adjourn/exempt/%d", first) }
