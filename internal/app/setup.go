package app

// Result of one step of the setup.
type Result string

// The results.
const (
	// Created: it was missing.
	Created Result = "created"
	// Updated: it was there and said something else.
	Updated Result = "updated"
	// AlreadyThere: nothing was to be done.
	AlreadyThere Result = "already there"
	// NotAllowed: Temporal does not let these credentials do it; someone else
	// has to, and the platform works meanwhile.
	NotAllowed Result = "not allowed"
	// Failed: see the step's error.
	Failed Result = "failed"
)

// Step is one thing the setup saw to.
type Step struct {
	Name   string
	Result Result
	// Err says why, where the result is [NotAllowed] or [Failed].
	Err error
}

func (step Step) ended(result Result, err error) Step {
	step.Result, step.Err = result, err
	if result == "" {
		step.Result = Failed
	}
	return step
}
