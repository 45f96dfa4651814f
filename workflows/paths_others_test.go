package workflows_test

import (
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
	"github.com/adjourn/adjourn/workflows"
)

func overridePaths() []path {
	input := workflows.EmitOverrideInput{Work: first, SearchAttributes: true}
	result := emitted(first, 5)
	rejected := work.Result{ID: first.ID, Outcome: work.OutcomeFailed, Reason: "rejected", Number: 5}
	overridePath := func(name string, want workflows.Emission, answers ...answer) path {
		return path{
			workflow: workflows.NameEmitOverride, name: name, input: input, want: want,
			answers: map[string][]answer{workflows.ActivityEmitOverride: answers},
		}
	}
	return []path{
		overridePath("emitted", workflows.Emission{Results: []work.Result{result}},
			answer{result: override.Output{Result: &result}}),
		overridePath("limited_then_emitted", workflows.Emission{Results: []work.Result{result}},
			answer{err: retryable("third_party_limit")}, answer{err: retryable("uncertain")},
			answer{err: retryable("attempt_in_flight")}, answer{result: override.Output{Result: &result}}),
		overridePath("rejected", workflows.Emission{Results: []work.Result{rejected}},
			answer{result: override.Output{Result: &rejected}}),
		overridePath("gone", workflows.Emission{Gone: []work.ID{first.ID}},
			answer{result: override.Output{Gone: true}}),
	}
}

func exemptPaths() []path {
	input := workflows.EmitExemptInput{Works: []work.Ref{ack}}
	exemptPath := func(name string, want workflows.Emission, answers ...answer) path {
		return path{
			workflow: workflows.NameEmitExempt, name: name, input: input, want: want,
			answers: map[string][]answer{workflows.ActivityEmitExempt: answers},
		}
	}
	sent := workflows.Emission{Results: []work.Result{emitted(ack, 9)}}
	failed := work.Result{ID: ack.ID, Outcome: work.OutcomeFailed, Reason: "not_retried", Number: 9}
	return []path{
		exemptPath("emitted", sent, answer{result: exempt.Output{Results: sent.Results}}),
		exemptPath("retried", sent, answer{err: retryable("uncertain")}, answer{result: exempt.Output{Results: sent.Results}}),
		exemptPath("not_retried", workflows.Emission{Results: []work.Result{failed}},
			answer{result: exempt.Output{Results: []work.Result{failed}}}),
		exemptPath("gone", workflows.Emission{Gone: []work.ID{ack.ID}},
			answer{result: exempt.Output{Gone: []work.ID{ack.ID}}}),
	}
}

func gatePaths() []path {
	gatePath := func(name string, request gate.Request, want gate.Answer) path {
		return path{
			workflow: nameGateUser, name: name, input: request, want: want,
			answers: map[string][]answer{workflows.ActivityGateAdmit: {{result: want}}},
		}
	}
	asked := gate.Request{Flow: "invoice", Deadline: deadline}
	granted := gate.Answer{Verdict: gate.Granted, Lane: work.Governed, SlotEnd: slotEnd}
	spent := gatePath("granted_and_spent", gate.Request{Flow: "invoice", Key: "order-7"}, granted)
	spent.answers[workflows.ActivityGateSpend] = []answer{{}}
	return []path{
		gatePath("granted", asked, granted),
		spent,
		gatePath("deferred", asked, gate.Answer{Verdict: gate.Deferred, Reason: quota.ReasonQuotaFull, RetryAt: slotEnd}),
		gatePath("override", asked, gate.Answer{Verdict: gate.Override, Lane: work.Override}),
		gatePath("would_defer", asked, gate.Answer{
			Verdict: gate.Granted, Lane: work.Governed, WouldDefer: true, Reason: quota.ReasonQuotaFull,
		}),
	}
}
