// Package dispatch is one pass over the register: what it finds left behind,
// what is urgent, what is exempt, what gets a slot, each chosen first and then
// started as workflows.
//
// Who is authoritative. The register: a work is chosen and marked in one
// statement or transaction, and only then is its workflow started. A start that
// fails, or a process that dies in between, leaves the work admitted, and the
// recovery of a later pass starts it again.
//
// The pass's cost follows what it starts, not the backlog: each step takes at
// most [RoundsMax] batches and stops at the first that is not full.
package dispatch
