package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// circumstances at 09:30 of a window from nine to ten, of an enforced flow.
func circumstances(changes ...func(*Circumstances)) Circumstances {
	made := Circumstances{
		Now:         noon.Add(-150 * time.Minute),
		WindowStart: noon.Add(-3 * time.Hour), WindowEnd: noon.Add(-2 * time.Hour),
		Governed: true, Enforced: true, Margin: 15 * time.Minute, NextPass: 10 * time.Second,
	}
	for _, change := range changes {
		change(&made)
	}
	return made
}

func deferredNow(now *Circumstances) {
	now.Deferral = Deferral{WindowStart: now.WindowStart, Reason: "quota_full"}
}

func deferredBefore(now *Circumstances) {
	now.Deferral = Deferral{WindowStart: now.WindowStart.Add(-time.Hour), Reason: "quota_full"}
}

func held(now *Circumstances)   { now.HeldUntil = now.Now.Add(5 * time.Minute) }
func exempt(now *Circumstances) { now.Governed, now.Enforced = false, false }

// TestExplainPending: what holds it, what happens next and when, the override at
// the latest.
func TestExplainPending(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		instant, err := time.Parse(time.RFC3339, "2026-12-01T"+clock+"Z")
		require.NoError(t, err)
		return instant
	}
	tests := []struct {
		name string
		work Work
		now  Circumstances
		want Explanation
	}{
		{
			"never considered",
			Work{},
			circumstances(),
			Explanation{
				"it waits for its turn: earliest deadline first", "the next pass considers it", at("09:30:10"),
			},
		},
		{
			"deferred in this window",
			Work{},
			circumstances(deferredNow),
			Explanation{
				"deferred in this window: quota_full", "the next window chooses it by its deadline", at("10:00:00"),
			},
		},
		{
			"deferred in an earlier window",
			Work{},
			circumstances(deferredBefore),
			Explanation{
				"it waits for its turn: earliest deadline first", "the next pass considers it", at("09:30:10"),
			},
		},
		{
			"its deadline closes before the window's turn",
			Work{Deadline: at("10:00:00")},
			circumstances(deferredNow),
			Explanation{
				"deferred in this window: quota_full",
				"at 2026-12-01T09:45:00Z its deadline begins to close and the override lane takes it, whatever the quota says",
				at("09:45:00"),
			},
		},
		{
			"its deadline closes after the window's turn",
			Work{Deadline: at("12:00:00")},
			circumstances(deferredNow),
			Explanation{
				"deferred in this window: quota_full",
				"the next window chooses it by its deadline; from 2026-12-01T11:45:00Z the override lane would take it",
				at("10:00:00"),
			},
		},
		{
			"closing",
			Work{Deadline: at("09:45:00")},
			circumstances(deferredNow),
			Explanation{
				"its deadline 2026-12-01T09:45:00Z is closing",
				"the next pass sends it by the override lane, whatever the quota says", at("09:30:10"),
			},
		},
		{
			"closing, in back-off",
			Work{Deadline: at("09:45:00"), NotBefore: at("11:00:00")},
			circumstances(),
			Explanation{
				"its deadline 2026-12-01T09:45:00Z is closing",
				"the next pass sends it by the override lane, whatever the quota says", at("09:30:10"),
			},
		},
		{
			"in back-off",
			Work{NotBefore: at("09:33:00"), Attempts: 2, Reason: "uncertain", Detail: "status 500"},
			circumstances(),
			Explanation{
				"attempt 2 may have reached the third party but brought no answer (uncertain: status 500): back-off",
				"it is chosen again, with a new slot and the same number", at("09:33:00"),
			},
		},
		{
			"the third party's hold",
			Work{},
			circumstances(held, deferredNow),
			Explanation{
				"the third party asked everyone to wait until 2026-12-01T09:35:00Z",
				"a pass after that chooses it by its deadline", at("09:35:00"),
			},
		},
		{
			"exempt, under a hold, past its deadline",
			Work{Deadline: at("09:00:00")},
			circumstances(exempt, held),
			Explanation{
				"it waits for the next pass; its flow is never throttled",
				"the next pass sends it by the exempt lane", at("09:30:10"),
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.work.State = Pending
			require.Equal(t, test.want, test.work.Explain(test.now))
		})
	}
}

// TestExplainTheOtherStates.
func TestExplainTheOtherStates(t *testing.T) {
	t.Parallel()
	now := circumstances()
	began := now.Now.Add(-time.Minute)
	tests := []struct {
		name      string
		work      Work
		why, next string
		nextAt    time.Time
	}{
		{
			"admitted with a slot",
			Work{State: Admitted, Lane: Governed, Admission: Granted, CarriedSince: began, SlotStart: now.WindowStart},
			"the governed lane carries it since 2026-12-01T09:29:00Z, with a slot of the window 2026-12-01T09:00:00Z",
			"its workflow begins the attempt", now.Now,
		},
		{
			"admitted, observed",
			Work{State: Admitted, Lane: Governed, Admission: WouldDefer, CarriedSince: began, SlotStart: now.WindowStart},
			"the governed lane carries it since 2026-12-01T09:29:00Z, observed beyond the ceiling of the window 2026-12-01T09:00:00Z",
			"its workflow begins the attempt", now.Now,
		},
		{
			"admitted in a window that is over",
			Work{State: Admitted, Lane: Governed, Admission: Granted, CarriedSince: began, SlotStart: now.WindowStart.Add(-time.Hour)},
			"the governed lane carries it since 2026-12-01T09:29:00Z, with a slot of the window 2026-12-01T08:00:00Z",
			"that window is over: the next pass lets it wait for another slot", now.Now.Add(10 * time.Second),
		},
		{
			"nothing was sent",
			Work{
				State: Admitted, Lane: Override, CarriedSince: began,
				Outcome: OutcomeUnsent, Reason: "not_sent", Detail: "connection refused",
			},
			"the override lane carries it since 2026-12-01T09:29:00Z; its last attempt ended unsent (not_sent: connection refused)",
			"its workflow tries again", now.Now,
		},
		{
			"attempting",
			Work{State: Attempting, Attempts: 2, Number: 41, AttemptBegunAt: began, AttemptExpiresAt: now.Now.Add(time.Minute)},
			"attempt 2 of number 41 is in flight since 2026-12-01T09:29:00Z",
			"its outcome is recorded; should the process have died, the work is taken up again once the attempt is surely over",
			now.Now.Add(time.Minute),
		},
		{
			"emitted late",
			Work{
				State: Emitted, Lane: Override, Number: 41, Late: true,
				Deadline: began.Add(-time.Minute), FinishedAt: began,
			},
			"the third party accepted it at 2026-12-01T09:29:00Z as number 41, by the override lane, late: it was due at 2026-12-01T09:28:00Z",
			"nothing: it is finished",
			time.Time{},
		},
		{
			"failed",
			Work{ID: 7, State: Failed, Attempts: 1, Reason: "rejected", Detail: "status 422"},
			"attempt 1 failed: rejected: status 422",
			"an operator decides: `adjourn work retry 7` once the cause is mended, or `adjourn work cancel 7`",
			time.Time{},
		},
		{
			"cancelled",
			Work{State: Cancelled, FinishedAt: began},
			"an operator cancelled it at 2026-12-01T09:29:00Z", "nothing: it is finished",
			time.Time{},
		},
		{
			"of a newer program",
			Work{State: "dreaming"},
			"its state is unknown to this program", "run a newer adjourn",
			time.Time{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, Explanation{Why: test.why, Next: test.next, NextAt: test.nextAt}, test.work.Explain(now))
		})
	}
}
