package work

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound tells that no work has the ID, or that its retention has passed.
var ErrNotFound = errors.New("no such work")

// StateError is an operator's change that the work's state does not allow;
// nothing was changed.
type StateError struct {
	ID    ID
	State State
	// Action that was asked, "cancel" or "retry"; Accepted are the states that
	// allow it.
	Action   string
	Accepted []State
}

// Error names the work, its state and the states that allow the action.
func (err *StateError) Error() string {
	accepted := ""
	for i, state := range err.Accepted {
		switch {
		case i == 0:
		case i == len(err.Accepted)-1:
			accepted += " or "
		default:
			accepted += ", "
		}
		accepted += string(state)
	}
	return fmt.Sprintf("%s work %d: it is %s; accepted are works that are %s",
		err.Action, err.ID, err.State, accepted)
}

// ListOptions chooses works to list, newest first.
type ListOptions struct {
	// States, Flow, Lane and Reason each restrict the list unless empty.
	States []State
	Flow   string
	Lane   Lane
	Reason string
	// Limit of works returned; below 1 means [ListLimit].
	Limit int
	// Before lists only works that arrived before this one; zero means from the
	// newest.
	Before ID
}

// ListLimit is how many works a list holds unless told otherwise.
const ListLimit = 50

// Made is one attempt that ended, as the works' own evidence has it.
type Made struct {
	Sequence  int
	Lane      Lane
	SlotStart time.Time // governed lane only
	Admission Admission
	Enforced  bool
	Number    int64
	BegunAt   time.Time
	EndedAt   time.Time
	Outcome   Outcome
	// Spent tells whether the third party may have counted it.
	Spent   bool
	Receipt Receipt
	Detail  string
}

// Deferral is one window's refusal of a work.
type Deferral struct {
	WindowStart time.Time
	Reason      string
	At          time.Time
}

// Count is how many works of one flow are in one state.
type Count struct {
	Flow  string
	State State
	Works int64
	// Oldest is when the one waiting longest arrived.
	Oldest time.Time
}
