// Package quotatest holds what tests of the quota share: an arbiter and a cadence
// in memory, driven by a clock of the test's own, and the suites that they and
// the real ones on Postgres pass alike. Not for production: nothing here outlives
// its process or is seen by another.
package quotatest
