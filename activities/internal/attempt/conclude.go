package attempt

import (
	"time"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/work"
)

// The reasons an attempt may end with. ReasonThirdPartyLimit is the quota's word
// for it; a test of the governed lane holds the two equal.
const (
	ReasonThirdPartyLimit = "third_party_limit"
	ReasonNotSent         = "not_sent"
	ReasonUncertain       = "uncertain"
	ReasonRejected        = "rejected"
	ReasonNotRetried      = "not_retried"
	// ReasonNotRecorded: the call was made but its ending could not be written.
	ReasonNotRecorded = "not_recorded"
	// ReasonInFlight: an earlier attempt may still end.
	ReasonInFlight = "attempt_in_flight"
	// ReasonWorkerStopping: the process stops; the attempt was not begun.
	ReasonWorkerStopping = "worker_stopping"
)

// made is an attempt that ended: what to record, what to report.
type made struct {
	ending work.Ending
	result work.Result
	// limitedFor is how long the third party asked to wait.
	limitedFor time.Duration
	// giveUp is when its recording is given up, on this process's clock.
	giveUp time.Time
}

// conclude maps an attempt's outcome to what is recorded and reported; now is
// the database's clock.
func (run *Run) conclude(begun work.Attempt, outcome emitter.Outcome, now time.Time) made {
	ending := work.Ending{
		ID: begun.Work.ID, Sequence: begun.Sequence, Detail: outcome.Detail,
		Receipt: work.Receipt{Status: outcome.Status, Reference: outcome.Reference, Answer: outcome.Answer},
	}
	ending.Outcome, ending.Reason = verdictOutcome(outcome.Verdict)
	var retryAt time.Time
	var limitedFor time.Duration
	switch ending.Outcome {
	case work.OutcomeSpent:
		ending.RetryIn = run.engine.Options.Backoff.Delay(begun.Sequence, run.engine.Random())
		retryAt = now.Add(ending.RetryIn)
	case work.OutcomeDeferred:
		limitedFor = run.hold(outcome)
		retryAt = now.Add(limitedFor)
	case work.OutcomeEmitted, work.OutcomeUnsent, work.OutcomeFailed:
	}
	if run.load.NoRetry && ending.Outcome != work.OutcomeEmitted && ending.Outcome != work.OutcomeFailed {
		ending.Detail = detailOf(ending)
		ending.Outcome, ending.Reason = work.OutcomeFailed, ReasonNotRetried
		ending.RetryIn, retryAt = 0, time.Time{}
	}
	if run.load.Lane != work.Governed {
		ending.RetryIn = 0 // Temporal retries these lanes
	}
	late := ending.Outcome == work.OutcomeEmitted &&
		!begun.Work.Deadline.IsZero() && now.After(begun.Work.Deadline)
	run.engine.Meter.Attempted(begun.Work.Flow, run.load.Lane, ending.Outcome, late)
	return made{
		ending: ending, limitedFor: limitedFor,
		result: work.Result{
			ID: ending.ID, Outcome: ending.Outcome, Reason: ending.Reason,
			RetryAt: retryAt, Number: begun.Number,
		},
		giveUp: time.Now().Add(run.engine.Options.RecordFor),
	}
}

// verdictOutcome is the table of what each verdict means for the work. Unknown
// verdicts are spent, like uncertain ones: over-count, never under-count.
func verdictOutcome(verdict emitter.Verdict) (work.Outcome, string) {
	switch verdict {
	case emitter.Emitted:
		return work.OutcomeEmitted, ""
	case emitter.Limited:
		return work.OutcomeDeferred, ReasonThirdPartyLimit
	case emitter.Unsent:
		return work.OutcomeUnsent, ReasonNotSent
	case emitter.Rejected:
		return work.OutcomeFailed, ReasonRejected
	case emitter.Uncertain:
		return work.OutcomeSpent, ReasonUncertain
	}
	return work.OutcomeSpent, ReasonUncertain
}

func detailOf(ending work.Ending) string {
	if ending.Detail == "" {
		return ending.Reason
	}
	return ending.Reason + ": " + ending.Detail
}
