package work

// Tally counts works by flow; flows without any are absent.
type Tally map[string]int

// Total over all flows.
func (tally Tally) Total() int {
	total := 0
	for _, count := range tally {
		total += count
	}
	return total
}

// AdmissionBatch is what became of the governed works one pass considered.
type AdmissionBatch struct {
	// Unarbitrated: the arbiter was in error, so this is what went without it.
	Unarbitrated bool
	// Chosen is how many works were considered.
	Chosen int
	// Granted hold a slot; WouldDefer go without one because they are observed.
	Granted    Tally
	WouldDefer Tally
	// Deferred counts the works refused for the first time in this window, by
	// reason and flow. A work refused again in the same window is not counted
	// again.
	Deferred map[string]Tally
	// Carriages are the chunks to start.
	Carriages []Carriage
	// Refused lists what became of the works that were asked for by ID and
	// refused; empty when none were asked for by ID.
	Refused []Result
}

// Recovery is what a pass found left behind by processes that died.
type Recovery struct {
	// Woken back-offs are over.
	Woken int
	// ExpiredSlots were admitted works whose window ended; pending again.
	ExpiredSlots int
	// LostAttempts were attempts whose process never recorded an ending.
	LostAttempts int
	// Restart lists carriages whose workflow may not be running.
	Restart []Carriage
}
