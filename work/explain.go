package work

import (
	"fmt"
	"time"
)

// Circumstances are what a work's next step depends on beside its own row.
type Circumstances struct {
	// Now is the database's clock.
	Now time.Time
	// WindowStart and WindowEnd of the present window.
	WindowStart, WindowEnd time.Time
	// HeldUntil is when the third party's hold ends; zero without one.
	HeldUntil time.Time
	// Deferral is the work's latest; zero without one.
	Deferral Deferral
	// Governed tells whether the flow needs a slot, Enforced whether it waits
	// without one.
	Governed, Enforced bool
	// Margin before a deadline within which it is closing.
	Margin time.Duration
	// NextPass is when works are looked for again, about.
	NextPass time.Duration
}

// Explanation tells why a work is where it is and what happens next.
type Explanation struct {
	// Why is one sentence about the present.
	Why string `json:"why"`
	// Next is one sentence about what happens next.
	Next string `json:"next"`
	// NextAt is when, at the earliest; zero when nothing happens by itself.
	NextAt time.Time `json:"next_at,omitzero"`
}

// Explain tells why the work is where it is.
func (work Work) Explain(now Circumstances) Explanation {
	switch work.State {
	case Pending:
		return work.explainPending(now)
	case Admitted:
		return work.explainAdmitted(now)
	case Attempting:
		return Explanation{
			Why: fmt.Sprintf("attempt %d of number %d is in flight since %s",
				work.Attempts, work.Number, clock(work.AttemptBegunAt)),
			Next: "its outcome is recorded; should the process have died, the work is taken up again " +
				"once the attempt is surely over",
			NextAt: work.AttemptExpiresAt,
		}
	case Emitted:
		return Explanation{Why: work.explainEmitted(), Next: "nothing: it is finished"}
	case Failed:
		return Explanation{
			Why: fmt.Sprintf("attempt %d failed: %s%s", work.Attempts, work.Reason, suffix(work.Detail)),
			Next: fmt.Sprintf("an operator decides: `adjourn work retry %d` once the cause is mended, "+
				"or `adjourn work cancel %d`", work.ID, work.ID),
		}
	case Cancelled:
		return Explanation{
			Why:  "an operator cancelled it at " + clock(work.FinishedAt),
			Next: "nothing: it is finished",
		}
	}
	return Explanation{Why: "its state is unknown to this program", Next: "run a newer adjourn"}
}

func (work Work) explainEmitted() string {
	text := fmt.Sprintf("the third party accepted it at %s as number %d, by the %s lane",
		clock(work.FinishedAt), work.Number, work.Lane)
	if work.Late {
		text += fmt.Sprintf(", late: it was due at %s", clock(work.Deadline))
	}
	return text
}

func (work Work) explainAdmitted(now Circumstances) Explanation {
	explanation := Explanation{
		Why:    fmt.Sprintf("the %s lane carries it since %s", work.Lane, clock(work.CarriedSince)),
		Next:   "its workflow begins the attempt",
		NextAt: now.Now,
	}
	if work.Outcome == OutcomeUnsent || work.Outcome == OutcomeSpent || work.Outcome == OutcomeDeferred {
		explanation.Why += fmt.Sprintf("; its last attempt ended %s (%s%s)",
			work.Outcome, work.Reason, suffix(work.Detail))
		explanation.Next = "its workflow tries again"
	}
	if work.Lane != Governed {
		return explanation
	}
	if work.Admission == WouldDefer {
		explanation.Why += fmt.Sprintf(", observed beyond the ceiling of the window %s", clock(work.SlotStart))
	} else {
		explanation.Why += fmt.Sprintf(", with a slot of the window %s", clock(work.SlotStart))
	}
	if work.SlotStart.Before(now.WindowStart) {
		explanation.Next = "that window is over: the next pass lets it wait for another slot"
		explanation.NextAt = now.Now.Add(now.NextPass)
	}
	return explanation
}

func (work Work) explainPending(now Circumstances) Explanation {
	next := Explanation{NextAt: now.Now.Add(now.NextPass)}
	switch {
	case now.Governed && Closing(work.Deadline, now.Now, now.Margin):
		next.Why = "its deadline " + clock(work.Deadline) + " is closing"
		next.Next = "the next pass sends it by the override lane, whatever the quota says"
		return next
	case work.NotBefore.After(now.Now):
		next.Why = fmt.Sprintf("attempt %d may have reached the third party but brought no answer (%s%s): back-off",
			work.Attempts, work.Reason, suffix(work.Detail))
		next.Next, next.NextAt = "it is chosen again, with a new slot and the same number", work.NotBefore
	case !now.Governed:
		next.Why = "it waits for the next pass; its flow is never throttled"
		next.Next = "the next pass sends it by the exempt lane"
		return next
	case now.HeldUntil.After(now.Now):
		next.Why = "the third party asked everyone to wait until " + clock(now.HeldUntil)
		next.Next, next.NextAt = "a pass after that chooses it by its deadline", now.HeldUntil
	case !now.Deferral.WindowStart.IsZero() && now.Deferral.WindowStart.Equal(now.WindowStart):
		next.Why = fmt.Sprintf("deferred in this window: %s", now.Deferral.Reason)
		next.Next, next.NextAt = "the next window chooses it by its deadline", now.WindowEnd
	default:
		next.Why = "it waits for its turn: earliest deadline first"
		next.Next = "the next pass considers it"
	}
	return next.orOverride(work.Deadline, now)
}

// orOverride replaces a next step that would come after the deadline began to
// close.
func (next Explanation) orOverride(deadline time.Time, now Circumstances) Explanation {
	closesAt := ClosesAt(deadline, now.Margin)
	if !now.Governed || closesAt.IsZero() {
		return next
	}
	if closesAt.Before(next.NextAt) {
		next.NextAt = closesAt
		next.Next = fmt.Sprintf("at %s its deadline begins to close and the override lane takes it, "+
			"whatever the quota says", clock(closesAt))
		return next
	}
	next.Next += fmt.Sprintf("; from %s the override lane would take it", clock(closesAt))
	return next
}

func clock(instant time.Time) string { return instant.UTC().Format(time.RFC3339) }

func suffix(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + detail
}
