// Package accounting counts emissions after the fact: those that left outside
// the arbiter, in the override and exempt lanes. It refuses nothing, and it may
// fail without harm (G6).
//
// # Who is authoritative
//
// The store's window row is. A [Counter] only carries emissions there, some
// hundreds of milliseconds late, so that governed work sees less room.
//
//	          Count             every Interval            written
//	emitted ────────► pending ─────────────────► batch ────────────► counted
//	                     │                         │ tries used up, or
//	                     │ no room                 ▼ closed too early
//	                     └───────────────────────► lost (metric and log line)
//
// # Invariants
//
//   - [Counter.Count] never waits for the store, whatever the store does.
//   - Every emission handed in ends counted or lost, and what is lost is
//     reported exactly.
//   - Memory is bounded by [Options.PendingMax].
//
// # Failure
//
// A batch is written again when the store's answer was an error. If the first
// write did take effect and only its answer was lost, the batch counts twice:
// governed work then sees less room than there is. That is the wanted direction
// (over-count, never under-count).
package accounting
