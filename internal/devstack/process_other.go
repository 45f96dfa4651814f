//go:build !linux

package devstack

import "syscall"

// canJudgeProcesses tells whether servesFrom can answer here.
const canJudgeProcesses = false

// dieWithParent does nothing: only Linux ties a child's life to its parent's.
// What a killed process leaves running is stopped by the next start on the same
// directory, or refused by Postgres itself.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// servesFrom cannot be told without /proc; Postgres then judges a left-over
// process id by itself, and refuses to start when that process lives.
func servesFrom(int, string) bool { return false }
