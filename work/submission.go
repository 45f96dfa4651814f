package work

import "time"

// Submission is a work as it is handed in. The register checks it: see
// [SubmissionError].
type Submission struct {
	// Flow names the type of the work: 1 to 64 of a-z, 0-9, "_", "." and "-",
	// beginning with a letter or digit. Required.
	Flow string
	// Payload is sent as it is; may be empty, at most the configured bound.
	Payload []byte
	// Deadline after which the emission is late; zero for none.
	Deadline time.Time
	// IdempotencyKey is derived from the business operation, never from the
	// content; 1 to 200 printable ASCII characters. Empty: the register makes
	// one, and a repeat is a second work.
	IdempotencyKey string
	// Stream names the sequence of numbers; the flow's name when empty.
	Stream string
	// ContentType of the payload; "application/json" when empty.
	ContentType string
}

// Submitted is the register's answer to a submission.
type Submitted struct {
	ID ID
	// Created is false when the idempotency key was known: the ID is then the
	// first submission's.
	Created bool
}

// SubmissionError is a submission that the register refuses; nothing was stored.
type SubmissionError struct {
	// Field is the part that is wrong: "flow", "payload", …
	Field string
	// Message names the field, the value and what is accepted.
	Message string
}

// Error is the message.
func (err *SubmissionError) Error() string { return err.Message }
