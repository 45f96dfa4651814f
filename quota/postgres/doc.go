// Package postgres is the quota's arbiter, its register and its cadence on
// Postgres.
//
// # Who is authoritative
//
// The database. Its clock, read once per statement, says which window it is; the
// one row of that window in adjourn.quota_window says how many slots are taken.
// Go decides nothing here: it words what the statement answered.
//
// # One reservation
//
//	Reserve ──► known to be full? ──► refusal from memory
//	     └────► combiner ──► one statement in flight per process
//	                             │
//	        guard: ceiling ≥ 1, slots ≥ 1, no hold, room in the snapshot
//	           │ no                                      │ yes
//	           ▼                                         ▼
//	   refusal: no row lock,               row lock ──► granted from the locked
//	   no WAL, no transaction id           row: least(asked, ceiling − count)
//
// The statement is its own transaction, READ COMMITTED, unless the caller brings
// one to [Register.Reserve]; the row stays locked until that one ends.
//
// # Invariants
//
//   - A grant is computed from the locked row, never from the snapshot. The
//     snapshot may only refuse.
//   - No grant carries the count past the ceiling it came with, whatever the row
//     held before; a ceiling below 1 grants nothing and writes no row.
//   - A refusal from memory is one the statement would have given: within a window
//     counts only rise, and the memory ends before the window does.
//   - Every window_start written went through adjourn.window_floor.
//   - A slot once granted stays counted: callers that gave up, answers that were
//     lost and processes that died leave an over-count, never an under-count.
//   - Order of locks: works, then the row of the window, then the figures.
//
// # Failure
//
// A statement that cannot run is an error, never a refusal. [ConfigurePool] bounds
// how long it may wait for a lock and run; [Options.Timeout] bounds the rest. A
// commit must be durable before it is answered, so synchronous_commit stays on:
// without it a crash loses grants that were acknowledged.
package postgres
