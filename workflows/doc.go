// Package workflows is the deterministic part: the order of steps of a pass and
// of each lane, the gate for other Temporal users, and everything Temporal knows
// by name.
//
//	DispatchWorkflow  recover ─► overrides ─► exempt ─► governed ─► prune
//	EmitGoverned      [admit] ─► emit chunk ─► what was not sent again, while
//	                  its slot lasts
//	EmitOverride      emit, retried by Temporal until the third party has it
//	EmitExempt        emit chunk, retried by Temporal as the flow allows
//	Admit             a step for a workflow of your own: may I emit now?
//
// Who is authoritative. The register, for every fact: a workflow carries ids,
// numbers and outcomes, never a payload (G10), and can be lost without loss.
// Ceilings, flags and clocks are read by activities; no workflow reads one.
//
// A refusal is a result (G3): a pass that could start nothing and a workflow
// whose works were all deferred have completed.
//
// Changing a workflow here means recording a history of the new path with
// `go test ./workflows -run TestHistoriesAreRecorded -record` and keeping the old
// ones replaying.
package workflows
