package emitter

import (
	"context"
	"time"
)

// Emitter makes one attempt over one technology.
//
// Emit returns when the outcome is known or ctx ends; it never returns an error
// because every ending, a cancelled context included, is an [Outcome].
// Implementations are safe for concurrent use.
type Emitter interface {
	Emit(ctx context.Context, message Message) Outcome
}

// Message is one work as the third party sees it.
type Message struct {
	// WorkID identifies the work in Adjourn; positive.
	WorkID int64
	// Flow is the type of the work, "invoice" for one.
	Flow string
	// Stream names the sequence that Number belongs to.
	Stream string
	// Number is the work's sequence number in its stream, from 1; it stays the
	// same over all attempts of one work.
	Number int64
	// Lane is how the work travels: "governed", "override" or "exempt".
	Lane string
	// IdempotencyKey stays the same over all attempts of one work, so that the
	// third party can recognise a repeat.
	IdempotencyKey string
	// ContentType of Payload; "application/octet-stream" when empty.
	ContentType string
	// Payload is sent as it is; it may be empty. Not modified, not kept.
	Payload []byte
	// SendBy is the last instant, on this process's monotonic clock, at which a
	// first byte may leave: past it the attempt would fall outside its slot's
	// window. Zero means no such limit. See [Message.TooLate].
	SendBy time.Time
}

// TooLate tells whether SendBy has passed at now, by the monotonic or by the wall
// clock: the former stands still while the machine is suspended, and a wall clock
// that was set forward only costs a try.
func (message Message) TooLate(now time.Time) bool {
	if message.SendBy.IsZero() {
		return false
	}
	return now.After(message.SendBy) || now.Round(0).After(message.SendBy.Round(0))
}

// Verdict says what became of one attempt.
type Verdict string

// The verdicts; see the package comment for when each one is given.
const (
	// Emitted: the third party accepted the work.
	Emitted Verdict = "emitted"
	// Limited: the third party's own limit refused it; see [Outcome.RetryAfter].
	Limited Verdict = "limited"
	// Unsent: no byte left this process; the slot may be used again.
	Unsent Verdict = "unsent"
	// Uncertain: the third party may have seen the attempt; nobody knows.
	Uncertain Verdict = "uncertain"
	// Rejected: the third party answered that this work will never do.
	Rejected Verdict = "rejected"
)

// Outcome is the result of one attempt.
type Outcome struct {
	Verdict Verdict
	// Status is the answer's HTTP status or its equivalent; zero when no answer
	// came.
	Status int
	// Reference is the third party's own name for the accepted work, if it gave
	// one; at most [ReferenceBytesMax] bytes of valid UTF-8 without NUL.
	Reference string
	// Answer holds the first bytes of the answer, at most [AnswerBytesMax], kept
	// as a receipt or as the reason of a rejection; valid UTF-8 without NUL.
	Answer string
	// RetryAfter is how long the third party asked to wait; only with Limited,
	// never negative. Zero when the answer named no usable delay.
	RetryAfter time.Duration
	// Detail says in a few words what went wrong; empty with Emitted. At most
	// [DetailBytesMax] bytes of valid UTF-8 without NUL. It never holds
	// credentials or payload bytes.
	Detail string
}

// Bounds of what an [Outcome] holds, in bytes; [Text] keeps to them.
const (
	ReferenceBytesMax = 200
	AnswerBytesMax    = 1024
	DetailBytesMax    = 400
)

// Spent tells whether the slot behind the attempt is used up, because the third
// party may have counted it. Unknown verdicts are spent: over-counting wastes a
// slot, under-counting breaks the quota (G1).
func (outcome Outcome) Spent() bool { return outcome.Verdict != Unsent }
