// Package failure is where the lanes' errors become Temporal's: it decides, at
// the outermost layer, what is retried, after how long, and what is expected.
//
// Refusals never come here: they are results (G3).
package failure

import (
	"time"

	"go.temporal.io/sdk/temporal"
)

// The types of errors activities return; part of the wire format.
const (
	// TypeRegister: the register could not be asked.
	TypeRegister = "register_unavailable"
	// TypeInFlight: an earlier attempt of the work may still end.
	TypeInFlight = "attempt_in_flight"
	// TypeLimited: the third party asked to wait.
	TypeLimited = "third_party_limit"
	// TypeNotSent: the third party could not be reached.
	TypeNotSent = "not_sent"
	// TypeUncertain: nobody knows whether the third party took the work.
	TypeUncertain = "uncertain"
	// TypeNotRecorded: the call was made but its ending could not be written.
	TypeNotRecorded = "not_recorded"
	// TypeStopping: the worker stops; nothing was begun.
	TypeStopping = "worker_stopping"
	// TypeInput: the input can never do; not retried.
	TypeInput = "invalid_input"
)

// Register wraps an error of the register; retried by the policy.
func Register(err error) error {
	return temporal.NewApplicationErrorWithOptions("the register could not be asked", TypeRegister,
		temporal.ApplicationErrorOptions{Cause: err})
}

// Input is a caller's mistake, named by message; never retried.
func Input(message string) error {
	return temporal.NewApplicationErrorWithOptions(message, TypeInput,
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

// Expected is something that happens in an ordinary day, so that it shows
// neither as an error in logs nor in failure metrics. It is retried after delay,
// or by the policy when delay is zero.
func Expected(message, kind string, delay time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, kind, temporal.ApplicationErrorOptions{
		Category: temporal.ApplicationErrorCategoryBenign, NextRetryDelay: delay,
	})
}

// Trouble is a failure someone may want to know of; retried after delay, or by
// the policy when delay is zero.
func Trouble(message, kind string, delay time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, kind,
		temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

// Stopping hands the activity to another worker: nothing was begun here.
func Stopping() error {
	return Expected("this worker is stopping; nothing was begun", TypeStopping, time.Second)
}
