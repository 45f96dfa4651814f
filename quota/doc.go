// Package quota is the domain of the shared emission quota: the window, the
// policy, the decision and the contract of the arbiter. It imports the standard
// library only.
//
// # Who is authoritative
//
// The database is: its clock says which window it is, its one row per window
// says how many slots are taken. A process never decides from what it
// remembers, except to refuse.
//
// # A slot
//
//	          room left                    an attempt is made
//	free ───────────────► reserved ───────────────────────────► spent
//	  │                        │
//	  │ window full            │ its window ends first, or its
//	  ▼                        ▼ process dies
//	refused (a value)        wasted (counted, never used)
//
// # Invariants
//
//   - Slots reserved by enforced flows in one window never exceed the ceiling,
//     whatever the number of processes, the crashes and the clocks (G1).
//   - A wasted slot stays counted: the arbiter over-counts, never under-counts.
//   - A refusal is a [Grant] without slots, never an error, and writes nothing.
//   - A ceiling below 1 refuses everything (G7).
//
// # Failure
//
// An error of the arbiter is not a refusal: the caller defers enforced work as
// [ReasonArbiterUnavailable] and lets observed work go (G8).
//
// A fixed grid of windows is a choice: it lets one row decide atomically. Its
// price is that twice the ceiling can pass around a boundary, at the end of one
// window and the start of the next; the cadence bounds the instant.
package quota
