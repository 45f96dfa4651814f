package workflows

import "github.com/adjourn/adjourn/work"

// DefaultQueuePrefix begins the names of the task queues unless configured.
const DefaultQueuePrefix = "adjourn"

// Names of workflow types; part of the wire format.
const (
	NameDispatch     = "DispatchWorkflow"
	NameEmitGoverned = "EmitGoverned"
	NameEmitOverride = "EmitOverride"
	NameEmitExempt   = "EmitExempt"
)

// Names of activity types; part of the wire format.
const (
	ActivityRecover        = "Recover"
	ActivityStartOverrides = "StartOverrides"
	ActivityStartExempt    = "StartExempt"
	ActivityStartGoverned  = "StartGoverned"
	ActivityPrune          = "Prune"
	ActivityAdmitWorks     = "AdmitWorks"
	ActivityEmitGoverned   = "EmitGovernedChunk"
	ActivityEmitOverride   = "EmitOverrideWork"
	ActivityEmitExempt     = "EmitExemptChunk"
	// The gate's are registered in other people's workers, hence the name in
	// front.
	ActivityGateAdmit = "AdjournAdmit"
	ActivityGateSpend = "AdjournSpend"
)

// Queues are the task queues, one per lane and one for the passes.
type Queues struct {
	Dispatch string
	Governed string
	Override string
	Exempt   string
}

// QueuesWith names the task queues of a platform; an empty prefix is
// [DefaultQueuePrefix].
func QueuesWith(prefix string) Queues {
	if prefix == "" {
		prefix = DefaultQueuePrefix
	}
	return Queues{
		Dispatch: prefix + "-dispatch",
		Governed: prefix + "-governed",
		Override: prefix + "-override",
		Exempt:   prefix + "-exempt",
	}
}

// Of the lane.
func (queues Queues) Of(lane work.Lane) string {
	switch lane {
	case work.Governed:
		return queues.Governed
	case work.Override:
		return queues.Override
	case work.Exempt:
		return queues.Exempt
	}
	return ""
}

// ScheduleID names the schedule of the passes: one per platform, so the prefix
// tells platforms in one namespace apart.
func (queues Queues) ScheduleID() string { return queues.Dispatch }

// PassWorkflowID begins the workflow id of every pass; Temporal adds the instant.
func (queues Queues) PassWorkflowID() string { return queues.Dispatch + "/pass" }
