// Package app wires the parts into processes and gives them a life cycle: a
// worker, a server, and the preparation both need.
//
// # What a worker keeps apart
//
// Three connection pools, so that a stuck arbiter starves no other lane (G2):
//
//	arbiter   reservations and admission, with a short lock time-out
//	override  the override lane's own, so that nothing else can use it up
//	general   everything else
//
// Pools connect when first used. A worker starts although the quota's tables are
// broken or the arbiter is locked: what needs them fails alone.
//
// # Stopping
//
// When its context ends a worker takes no more work, lets attempts under way end
// within the stop time-out, writes what accounting still holds, and closes what
// it opened, last first.
package app
