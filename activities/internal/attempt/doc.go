// Package attempt takes works from admitted to recorded: it begins them, calls
// the third party once for each, and writes every ending. The three lanes share
// it; it knows neither quota nor database, so that the lanes that must not reach
// the arbiter cannot reach it through here.
//
// Who is authoritative. The register: [work.Recorder] says which works may be
// attempted, numbers and marks them in one statement, and fences what is
// recorded later by the attempt's sequence.
//
//	Begin ──► one goroutine per attempt ──► endings ──► one recorder
//	  │            │                                      takes all that is
//	  │            └ its own time-out, its own outcome     there, writes it in
//	  └ refused, gone, busy: nothing is called             one statement, repeats
//
// # Invariants
//
//   - One call per begun attempt, never a second.
//   - A call that hangs delays no other work's call and no other's recording.
//   - No first byte leaves after the slot's window, by the stop-watch that was
//     started before the register looked at its clock: an estimate that can
//     only stop earlier (G1).
//   - A call that was made is recorded even though the activity is cancelled.
//
// # Failure
//
// An ending that cannot be written is tried again until [Options.RecordFor] has
// passed, then given up: to the register the attempt is lost, and a recovery
// lets the work be emitted again under the same number and idempotency key (G9).
package attempt
