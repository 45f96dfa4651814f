package quota

import "slices"

// Treatment is how a flow stands towards the quota.
type Treatment string

// The treatments of a flow.
const (
	// Enforce: without a slot the work waits.
	Enforce Treatment = "enforce"
	// Observe: the whole path is taken and counted, and the work goes anyway.
	Observe Treatment = "observe"
	// Exempt: never throttled, only counted after emission. Unknown flows are
	// exempt too (G6).
	Exempt Treatment = "exempt"
)

// Policy is what the operator decided: the ceiling and each flow's treatment.
// The zero value enforces nothing and knows no flow.
type Policy struct {
	// Ceiling is how many emissions one window may hold. Below 1 it refuses
	// every enforced work.
	Ceiling int32
	// Flows maps each governed flow to true (enforce) or false (observe).
	Flows map[string]bool
	// ExemptFlows names the flows that are exempt on purpose, whatever Flows says
	// of them; flows in neither are unknown and treated alike.
	ExemptFlows []string
	// UndatedShare of the room that an admission finds goes to works without a
	// deadline while any wait, rounded up: from 0, the default, to 1.
	UndatedShare float64
}

// Treatment of a flow under the policy.
func (policy Policy) Treatment(flow string) Treatment {
	enforced, governed := policy.Flows[flow]
	switch {
	case !governed, slices.Contains(policy.ExemptFlows, flow):
		return Exempt
	case enforced:
		return Enforce
	default:
		return Observe
	}
}

// Known tells whether the operator named the flow; metrics share one label value
// between all flows that are not known.
func (policy Policy) Known(flow string) bool {
	_, governed := policy.Flows[flow]
	return governed || slices.Contains(policy.ExemptFlows, flow)
}

// Governed lists the flows that need a slot, enforced or observed, sorted.
func (policy Policy) Governed() []string { return policy.flows(Enforce, Observe) }

// Enforced lists the flows that wait without a slot, sorted.
func (policy Policy) Enforced() []string { return policy.flows(Enforce) }

func (policy Policy) flows(treatments ...Treatment) []string {
	names := make([]string, 0, len(policy.Flows))
	for flow := range policy.Flows {
		if slices.Contains(treatments, policy.Treatment(flow)) {
			names = append(names, flow)
		}
	}
	slices.Sort(names)
	return names
}
