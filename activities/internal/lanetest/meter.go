package lanetest

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/adjourn/adjourn/work"
)

// Meter remembers what it was told, as counts by name. It implements the meters
// of every lane. Safe for concurrent use; its zero value is ready.
type Meter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (meter *Meter) add(count int, format string, parts ...any) {
	meter.mu.Lock()
	defer meter.mu.Unlock()
	if meter.counts == nil {
		meter.counts = map[string]int{}
	}
	if count != 0 {
		meter.counts[fmt.Sprintf(format, parts...)] += count
	}
}

// Counts so far.
func (meter *Meter) Counts() map[string]int {
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return maps.Clone(meter.counts)
}

// Attempted counts "attempted flow lane outcome", and "late flow".
func (meter *Meter) Attempted(flow string, lane work.Lane, outcome work.Outcome, late bool) {
	meter.add(1, "attempted %s %s %s", flow, lane, outcome)
	if late {
		meter.add(1, "late %s", flow)
	}
}

// Unrecorded counts "unrecorded lane".
func (meter *Meter) Unrecorded(lane work.Lane, endings int) {
	meter.add(endings, "unrecorded %s", lane)
}

// Admission counts "granted flow", "would_defer flow" and "refused flow reason".
func (meter *Meter) Admission(batch work.AdmissionBatch) {
	for flow, count := range batch.Granted {
		meter.add(count, "granted %s", flow)
	}
	for flow, count := range batch.WouldDefer {
		meter.add(count, "would_defer %s", flow)
	}
	for reason, tally := range batch.Deferred {
		for flow, count := range tally {
			meter.add(count, "refused %s %s", flow, reason)
		}
	}
}

// Reserved counts "reservations".
func (meter *Meter) Reserved(time.Duration) { meter.add(1, "reservations") }

// Deferred counts "deferred flow reason".
func (meter *Meter) Deferred(flow, reason string, works int) {
	meter.add(works, "deferred %s %s", flow, reason)
}

// HoldFailed counts "hold failed".
func (meter *Meter) HoldFailed() { meter.add(1, "hold failed") }

// CadenceFailed counts "cadence failed".
func (meter *Meter) CadenceFailed() { meter.add(1, "cadence failed") }

// Overridden counts "overridden flow".
func (meter *Meter) Overridden(chosen work.Tally) {
	for flow, count := range chosen {
		meter.add(count, "overridden %s", flow)
	}
}

// Exempted counts "exempted flow".
func (meter *Meter) Exempted(chosen work.Tally) {
	for flow, count := range chosen {
		meter.add(count, "exempted %s", flow)
	}
}

// Started counts "started lane", "running lane" and "failed lane".
func (meter *Meter) Started(lane work.Lane, started, running, failed int) {
	meter.add(started, "started %s", lane)
	meter.add(running, "running %s", lane)
	meter.add(failed, "failed %s", lane)
}

// Recovered counts "lost attempts".
func (meter *Meter) Recovered(recovery work.Recovery) {
	meter.add(recovery.LostAttempts, "lost attempts")
}
