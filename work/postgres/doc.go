// Package postgres is the works' register on Postgres: what lanes, passes and
// operators ask of works, each as few statements as can be.
//
// # Who is authoritative
//
// The work's row. Every statement that moves a work names the state it expects
// and, for lanes, the workflow that carries it or the attempt it speaks of; who
// comes late changes nothing and is told so.
//
// # Locks
//
// Lanes lock works by ID, then streams by name, in one autocommit statement, so
// that a process frozen by its kernel holds nothing. Passes lock works in
// dispatch order and skip what somebody holds. The quota's window is locked after
// the works, its figures last.
//
// # When a process dies
//
// A work is pending, admitted, or attempting until an instant kept in its row.
// [Store.Recover] finds the last two from the row alone.
package postgres
