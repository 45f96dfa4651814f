// Package work is the domain of the work: one unit to be emitted to the third
// party, its states, lanes, outcomes and the rules that move it. It imports the
// standard library only.
//
// # Who is authoritative
//
// The work's row. A process may move a work only by a statement that names the
// state it expects, so of two processes that try, one succeeds and the other
// learns that it came late.
//
// # States
//
//	           chosen by a pass            number + mark
//	pending ───────────────────► admitted ───────────────► attempting
//	 ▲  ▲ ▲                        │  ▲                     │  │  │
//	 │  │ └── window over,         │  │ nothing was sent,   │  │  │ 2xx
//	 │  │     urgent elsewhere ────┘  └─ or lane retries ───┘  │  ▼
//	 │  └──── third party's limit, uncertain, process lost ────┤ emitted
//	 │                                                         │
//	 └──── operator's retry ──── failed ◄──── rejected ────────┘
//
//	pending, admitted, failed ──── operator ────► cancelled
//	pending, admitted, failed ──── an acceptance comes late ────► emitted
//
// # Invariants
//
//   - A number is allocated once, in the statement that begins the first
//     attempt, and is kept for good (G5).
//   - A deferral leaves the row as it was.
//   - An attempt that may have reached the third party is never begun again on
//     the same slot (G1).
//   - Every accepted work ends emitted, failed or cancelled (G9).
package work
