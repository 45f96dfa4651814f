// Package demo is the scenario of `adjourn demo`: six hundred works, one window
// of observing, then enforcement, and a verdict that trusts the third party's
// own log rather than our counters.
package demo

import (
	"fmt"
	"time"
)

// Report is what the demo ends with; its JSON form is a stable interface.
type Report struct {
	Windows []Window `json:"windows"`
	// Submitted works, and what became of them.
	Submitted int `json:"submitted"`
	Emitted   int `json:"emitted"`
	Pending   int `json:"pending"`
	Failed    int `json:"failed"`
	// SequenceGaps are numbers missing between 1 and the highest of their
	// stream, in the third party's log.
	SequenceGaps int `json:"sequence_gaps"`
	// DuplicateEffects are works that the third party took twice.
	DuplicateEffects int `json:"duplicate_effects"`
	// Verdict is "ok", or "failed" with Problems.
	Verdict  string   `json:"verdict"`
	Problems []string `json:"problems,omitempty"`
}

// Window is one window, our figures beside the third party's log.
type Window struct {
	WindowStart time.Time  `json:"window_start"`
	Ceiling     int32      `json:"ceiling"`
	Enforced    bool       `json:"enforced"`
	Granted     int        `json:"granted"`
	Deferred    int        `json:"deferred"`
	WouldDefer  int        `json:"would_defer"`
	Overridden  int        `json:"overridden"`
	Exempt      int        `json:"exempt"`
	ThirdParty  ThirdParty `json:"third_party"`
}

// ThirdParty counts the arrivals of one window in the third party's own log, by
// lane.
type ThirdParty struct {
	Governed int `json:"governed"`
	Override int `json:"override"`
	Exempt   int `json:"exempt"`
}

// Verdicts of a report.
const (
	VerdictOK     = "ok"
	VerdictFailed = "failed"
)

// Judge sets the verdict from the figures. Everything that counts as evidence
// comes from the third party's log and from the works themselves.
func (report *Report) Judge() {
	report.Problems = nil
	blame := func(format string, arguments ...any) {
		report.Problems = append(report.Problems, fmt.Sprintf(format, arguments...))
	}
	deferred, overridden := 0, 0
	for _, window := range report.Windows {
		deferred += window.Deferred
		overridden += window.ThirdParty.Override
		if window.Enforced && window.ThirdParty.Governed > int(window.Ceiling) {
			blame("window %s: %d governed arrivals in the third party's log, ceiling %d",
				window.WindowStart.Format(time.TimeOnly), window.ThirdParty.Governed, window.Ceiling)
		}
	}
	if lost := report.Submitted - report.Emitted - report.Pending - report.Failed; lost != 0 {
		blame("%d of %d works are neither emitted, pending nor failed", lost, report.Submitted)
	}
	if report.Pending != 0 {
		blame("%d works are still pending", report.Pending)
	}
	if report.Failed != 0 {
		blame("%d works failed", report.Failed)
	}
	if report.SequenceGaps != 0 {
		blame("%d sequence numbers are missing", report.SequenceGaps)
	}
	if report.DuplicateEffects != 0 {
		blame("%d works took effect twice", report.DuplicateEffects)
	}
	if deferred == 0 {
		blame("no deferral was seen: the ceiling was never reached")
	}
	if overridden == 0 {
		blame("no override was seen: no deadline closed in time")
	}
	report.Verdict = VerdictOK
	if len(report.Problems) > 0 {
		report.Verdict = VerdictFailed
	}
}
