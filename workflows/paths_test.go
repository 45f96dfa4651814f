package workflows_test

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
	"github.com/adjourn/adjourn/workflows"
)

// path is one way through a workflow: what the activities answer and what the
// workflow comes to. Each path is run in the test environment, recorded on a
// real server, and replayed.
type path struct {
	workflow string
	name     string
	input    any
	answers  map[string][]answer
	want     any
	// fails with an error of this type; empty completes.
	fails string
}

var (
	slotStart = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	slotEnd   = slotStart.Add(time.Hour)
	deadline  = time.Date(2026, 3, 1, 18, 0, 0, 0, time.UTC)
	first     = work.Ref{ID: 41, Flow: "invoice", Deadline: deadline}
	second    = work.Ref{ID: 42, Flow: "invoice"}
	ack       = work.Ref{ID: 43, Flow: "ack"}
)

func emitted(ref work.Ref, number int64) work.Result {
	return work.Result{ID: ref.ID, Outcome: work.OutcomeEmitted, Number: number}
}

func deferred(ref work.Ref, reason quota.Reason, retryAt time.Time) work.Result {
	return work.Result{ID: ref.ID, Outcome: work.OutcomeDeferred, Reason: string(reason), RetryAt: retryAt}
}

func unsent(ref work.Ref, reason string) work.Result {
	return work.Result{ID: ref.ID, Outcome: work.OutcomeUnsent, Reason: reason}
}

func chunk(results ...work.Result) answer { return answer{result: governed.Output{Results: results}} }

func retryable(kind string) error {
	return temporal.NewApplicationErrorWithOptions("scripted", kind,
		temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Millisecond})
}

func final(kind string) error {
	return temporal.NewApplicationErrorWithOptions("scripted", kind,
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

func paths() []path {
	var all []path
	all = append(all, dispatchPaths()...)
	all = append(all, governedPaths()...)
	all = append(all, directPaths()...)
	all = append(all, overridePaths()...)
	all = append(all, exemptPaths()...)
	return append(all, gatePaths()...)
}

func dispatchPaths() []path {
	quiet := workflows.PassSummary{}
	return []path{
		{
			workflow: workflows.NameDispatch, name: "nothing_waiting",
			input: workflows.DispatchInput{}, want: quiet,
		},
		{
			workflow: workflows.NameDispatch, name: "every_lane", input: workflows.DispatchInput{},
			answers: map[string][]answer{
				workflows.ActivityRecover: {{result: dispatch.Recovered{
					Woken: 1, ExpiredSlots: 2, LostAttempts: 3, Restarts: dispatch.Starts{Started: 1},
				}}},
				workflows.ActivityStartOverrides: {{result: dispatch.Chosen{Works: 2, Starts: dispatch.Starts{Started: 2}}}},
				workflows.ActivityStartExempt:    {{result: dispatch.Chosen{Works: 30, Starts: dispatch.Starts{Started: 2}}}},
				workflows.ActivityStartGoverned: {{result: dispatch.Admission{
					Chosen: 100, Granted: 40, WouldDefer: 10, Deferred: map[string]int{"quota_full": 50},
					Starts: dispatch.Starts{Started: 3},
				}}},
				workflows.ActivityPrune: {{result: 7}},
			},
			want: workflows.PassSummary{
				Chosen: 132, Granted: 40, WouldDefer: 10, Deferred: map[string]int{"quota_full": 50},
				Overridden: 2, Exempt: 30, Started: 8,
				Woken: 1, ExpiredSlots: 2, LostAttempts: 3, Restarted: 1, Pruned: 7,
			},
		},
		{
			workflow: workflows.NameDispatch, name: "arbiter_broken", input: workflows.DispatchInput{},
			answers: map[string][]answer{
				workflows.ActivityStartOverrides: {{result: dispatch.Chosen{Works: 1, Starts: dispatch.Starts{Started: 1}}}},
				workflows.ActivityStartGoverned:  {{err: retryable("register_unavailable")}},
				workflows.ActivityPrune:          {{result: 1}},
			},
			want: workflows.PassSummary{
				Chosen: 1, Overridden: 1, Started: 1, Pruned: 1,
				Problems: []string{"StartGoverned: scripted (type: register_unavailable, retryable: true)"},
			},
		},
		{
			workflow: workflows.NameDispatch, name: "every_step_fails", input: workflows.DispatchInput{},
			answers: map[string][]answer{
				workflows.ActivityRecover:        {{err: final("x")}},
				workflows.ActivityStartOverrides: {{err: final("x")}},
				workflows.ActivityStartExempt:    {{err: final("x")}},
				workflows.ActivityStartGoverned:  {{err: final("x")}},
				workflows.ActivityPrune:          {{err: final("x")}},
			},
			want: workflows.PassSummary{Problems: []string{
				"Recover: scripted (type: x, retryable: false)",
				"StartOverrides: scripted (type: x, retryable: false)",
				"StartExempt: scripted (type: x, retryable: false)",
				"StartGoverned: scripted (type: x, retryable: false)",
				"Prune: scripted (type: x, retryable: false)",
			}},
		},
		{
			workflow: workflows.NameDispatch, name: "starts_fail", input: workflows.DispatchInput{},
			answers: map[string][]answer{
				workflows.ActivityStartOverrides: {{err: retryable("register_unavailable")}, {
					result: dispatch.Chosen{Works: 2, Starts: dispatch.Starts{Started: 1, Failed: 1, Problem: "no server"}},
				}},
			},
			want: workflows.PassSummary{
				Chosen: 2, Overridden: 2, Started: 1, StartsFailed: 1,
				Problems: []string{"StartOverrides: no server"},
			},
		},
	}
}

func governedPaths() []path {
	carried := workflows.EmitGovernedInput{Works: []work.Ref{first, second}, SlotStart: slotStart}
	governedPath := func(name string, want []work.Result, answers ...answer) path {
		return path{
			workflow: workflows.NameEmitGoverned, name: name, input: carried,
			answers: map[string][]answer{workflows.ActivityEmitGoverned: answers},
			want:    workflows.Emission{Results: want},
		}
	}
	limited := deferred(first, quota.ReasonThirdPartyLimit, slotStart.Add(10*time.Minute))
	expired := deferred(second, quota.ReasonSlotExpired, time.Time{})
	late := deferred(second, quota.ReasonCadence, time.Time{})
	spent := work.Result{ID: first.ID, Outcome: work.OutcomeSpent, Reason: "uncertain", RetryAt: slotStart.Add(time.Second), Number: 1}
	rejected := work.Result{ID: second.ID, Outcome: work.OutcomeFailed, Reason: "rejected", Number: 2}
	tagged := governedPath("search_attributes",
		[]work.Result{emitted(first, 1), rejected}, chunk(emitted(first, 1), rejected))
	tagged.input = workflows.EmitGovernedInput{Works: []work.Ref{first, second}, SlotStart: slotStart, SearchAttributes: true}
	gone := governedPath("gone", []work.Result{emitted(second, 2)},
		answer{result: governed.Output{Results: []work.Result{emitted(second, 2)}, Gone: []work.ID{first.ID}}})
	gone.want = workflows.Emission{Results: []work.Result{emitted(second, 2)}, Gone: []work.ID{first.ID}}
	broken := governedPath("register_unavailable",
		[]work.Result{emitted(first, 1), emitted(second, 2)},
		answer{err: retryable("register_unavailable")}, chunk(emitted(first, 1), emitted(second, 2)))
	invalid := governedPath("invalid_input", nil, answer{err: final("invalid_input")})
	invalid.fails, invalid.want = "invalid_input", nil
	return []path{
		governedPath("granted", []work.Result{emitted(first, 1), emitted(second, 2)},
			chunk(emitted(first, 1), emitted(second, 2))),
		governedPath("slot_expired", []work.Result{emitted(first, 1), expired}, chunk(emitted(first, 1), expired)),
		governedPath("cadence_past_window", []work.Result{emitted(first, 1), late}, chunk(emitted(first, 1), late)),
		governedPath("third_party_limit", []work.Result{limited, emitted(second, 1)}, chunk(limited, emitted(second, 1))),
		governedPath("attempt_spent", []work.Result{spent, rejected}, chunk(spent, rejected)),
		governedPath("unsent_then_emitted", []work.Result{emitted(first, 1), emitted(second, 2)},
			chunk(emitted(first, 1), unsent(second, "not_sent")), chunk(unsent(second, "not_sent")), chunk(emitted(second, 2))),
		governedPath("worker_stopping", []work.Result{emitted(first, 1), emitted(second, 2)},
			chunk(unsent(first, "worker_stopping"), unsent(second, "worker_stopping")),
			chunk(emitted(first, 1), emitted(second, 2))),
		governedPath("unsent_then_expired", []work.Result{emitted(first, 1), expired},
			chunk(emitted(first, 1), unsent(second, "not_sent")), chunk(expired)),
		gone, broken, invalid, tagged,
	}
}

// directPaths start without a slot.
func directPaths() []path {
	direct := workflows.EmitGovernedInput{Works: []work.Ref{first, second}}
	both := governed.Admitted{Works: []work.Ref{first, second}, SlotStart: slotStart}
	full := func(ref work.Ref) work.Result { return deferred(ref, quota.ReasonQuotaFull, slotEnd) }
	unavailable := func(ref work.Ref) work.Result {
		return deferred(ref, quota.ReasonArbiterUnavailable, time.Time{})
	}
	down := answer{err: retryable("register_unavailable")}
	return []path{
		{
			workflow: workflows.NameEmitGoverned, name: "direct_granted", input: direct,
			answers: map[string][]answer{
				workflows.ActivityAdmitWorks:   {{result: both}},
				workflows.ActivityEmitGoverned: {chunk(emitted(first, 1), emitted(second, 2))},
			},
			want: workflows.Emission{Results: []work.Result{emitted(first, 1), emitted(second, 2)}},
		},
		{
			workflow: workflows.NameEmitGoverned, name: "direct_deferred", input: direct,
			answers: map[string][]answer{
				workflows.ActivityAdmitWorks: {{result: governed.Admitted{Refused: []work.Result{full(first), full(second)}}}},
			},
			want: workflows.Emission{Results: []work.Result{full(first), full(second)}},
		},
		{
			workflow: workflows.NameEmitGoverned, name: "direct_partly_granted", input: direct,
			answers: map[string][]answer{
				workflows.ActivityAdmitWorks: {{result: governed.Admitted{
					Works: []work.Ref{first}, SlotStart: slotStart, Refused: []work.Result{full(second)},
				}}},
				workflows.ActivityEmitGoverned: {chunk(emitted(first, 1))},
			},
			want: workflows.Emission{Results: []work.Result{emitted(first, 1), full(second)}},
		},
		{
			// Observed works beyond the ceiling travel like granted ones.
			workflow: workflows.NameEmitGoverned, name: "direct_would_defer", input: direct,
			answers: map[string][]answer{
				workflows.ActivityAdmitWorks:   {{result: governed.Admitted{Works: []work.Ref{first}, SlotStart: slotStart, Gone: []work.ID{second.ID}}}},
				workflows.ActivityEmitGoverned: {chunk(emitted(first, 1))},
			},
			want: workflows.Emission{Results: []work.Result{emitted(first, 1)}, Gone: []work.ID{second.ID}},
		},
		{
			workflow: workflows.NameEmitGoverned, name: "direct_admission_error", input: direct,
			answers: map[string][]answer{workflows.ActivityAdmitWorks: {down, down, down, down, down}},
			want:    workflows.Emission{Results: []work.Result{unavailable(first), unavailable(second)}},
		},
		{
			workflow: workflows.NameEmitGoverned, name: "direct_invalid_input", input: direct,
			answers: map[string][]answer{workflows.ActivityAdmitWorks: {{err: final("invalid_input")}}},
			fails:   "invalid_input",
		},
	}
}
