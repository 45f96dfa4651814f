package work

import "time"

// Emission is one attempt that reached the third party outside the arbiter, to
// be counted after the fact.
type Emission struct {
	Flow string
	// Lane is Override or Exempt; governed emissions were counted by the arbiter.
	Lane Lane
	// At is when it left, on the database's clock; it decides the window.
	At time.Time
}
