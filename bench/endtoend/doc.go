// Package endtoend measures how fast works travel from accepted to recorded: by
// Adjourn, by a bare Temporal workflow for each work, and by River, all on one
// Temporal server and one Postgres with durability on, all calling the same HTTP
// handler on the loopback in this process.
//
// What is counted. The works, jobs or names of workflows are there before the
// watch starts. The watch starts just before the worker does and stops when the
// last outcome is durable: no row left in adjourn.work, no unfinished job in
// river_job, the last bare workflow closed. Connecting, planning, passes, starting
// workflows and recording are all inside. Afterwards the handler must have seen
// each work exactly once.
package endtoend
