package work

import "time"

// Outcome is what an attempt, or the decision not to make one, came to.
type Outcome string

// The outcomes.
const (
	// OutcomeEmitted: the third party accepted the work.
	OutcomeEmitted Outcome = "emitted"
	// OutcomeDeferred: refused, by the arbiter or by the third party's own
	// limit; the work is pending as before.
	OutcomeDeferred Outcome = "deferred"
	// OutcomeUnsent: nothing left the process; the slot is kept.
	OutcomeUnsent Outcome = "unsent"
	// OutcomeSpent: the third party may have seen the attempt; the slot is spent
	// and the work needs another.
	OutcomeSpent Outcome = "spent"
	// OutcomeFailed: the third party will never accept it; an operator decides.
	OutcomeFailed Outcome = "failed"
)

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	return []Outcome{OutcomeEmitted, OutcomeDeferred, OutcomeUnsent, OutcomeSpent, OutcomeFailed}
}

// Result is one work's ending of one lane's try, as workflows report it.
type Result struct {
	ID      ID      `json:"id"`
	Outcome Outcome `json:"outcome"`
	// Reason of a deferral or of a failure; empty when emitted.
	Reason string `json:"reason,omitempty"`
	// RetryAt is the earliest instant of another try; zero when there is none or
	// it is not known.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Number allocated; zero when none is.
	Number int64 `json:"number,omitempty"`
}

// Attempt is one attempt that has begun: numbered, marked, not yet made.
type Attempt struct {
	Work Ref
	// Sequence is the attempt's ordinal in its work's life, from 1; it fences a
	// late record.
	Sequence       int
	Stream         string
	Number         int64
	IdempotencyKey string
	ContentType    string
	Payload        []byte
	// SlotLeft is how long the slot's window had left, on the database's clock,
	// when the attempt was marked; governed lane only.
	SlotLeft time.Duration
	// BegunAt is the database's clock when the attempt was marked.
	BegunAt time.Time
}

// Ending is how one begun attempt ended, to be recorded.
type Ending struct {
	ID       ID
	Sequence int
	Outcome  Outcome
	Reason   string
	Detail   string
	Receipt  Receipt
	// RetryIn is the back-off before the work may be chosen again; only with
	// [OutcomeSpent] in the governed lane.
	RetryIn time.Duration
}
