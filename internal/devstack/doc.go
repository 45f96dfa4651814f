// Package devstack runs everything Adjourn needs on one machine without
// containers: a real Postgres, a real Temporal development server with its web
// interface, and a simulated third party on real HTTP.
//
// It is for `adjourn dev`, `adjourn demo` and tests, on Linux and macOS; a
// production runs none of it. Each part can be started alone ([StartPostgres],
// [StartTemporal], thirdparty.Start) or all at once ([Start]).
//
// Ownership. A part's server is a child of this process in a process group of
// its own, so a Ctrl-C in the terminal reaches only this process, which then
// stops its parts in order. Should this process die without a chance to do that,
// Linux stops the children in its place; elsewhere the next start on the same
// directory does. An exit that nobody asked for is reported on the part's Exited
// channel, and [Start] ends the whole stack with the part's name as the cause.
package devstack
