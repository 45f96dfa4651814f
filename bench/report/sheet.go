// Package report collects what a benchmark measured and shows it, as aligned
// tables for people and as JSON for programs.
package report

import (
	"fmt"
	"io"
	"sync"
)

// Figure is one measured value.
type Figure struct {
	// Section groups figures into a table: "grants", "refusals", "passes".
	Section string `json:"section"`
	// Case is the row's variable: "64 callers", "10^6 pending, window full".
	Case string `json:"case"`
	// Subject is who was measured: "adjourn", "plain", "redis_rate".
	Subject string `json:"subject"`
	// Metric and Unit name the value: "rate" in "1/s", "p99" in "ms".
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
}

// Target is a ratio to be reached.
type Target struct {
	// Text says what is compared with what.
	Text string `json:"text"`
	// Wanted is the bound: a minimum, or with AtMost a maximum.
	Wanted float64 `json:"wanted"`
	AtMost bool    `json:"at_most,omitempty"`
	// Measured in this run.
	Measured float64 `json:"measured"`
}

// Reached tells whether the measured ratio keeps the bound.
func (target Target) Reached() bool {
	if target.AtMost {
		return target.Measured <= target.Wanted
	}
	return target.Measured >= target.Wanted
}

// Sheet is what one run measured. Safe for concurrent use.
type Sheet struct {
	mu       sync.Mutex
	progress io.Writer
	figures  []Figure
	targets  []Target
}

// NewSheet is empty; progress is told what runs.
func NewSheet(progress io.Writer) *Sheet { return &Sheet{progress: progress} }

// Add keeps a figure.
func (sheet *Sheet) Add(figure Figure) {
	sheet.mu.Lock()
	defer sheet.mu.Unlock()
	sheet.figures = append(sheet.figures, figure)
}

// Judge keeps a target with its measured ratio.
func (sheet *Sheet) Judge(target Target) {
	sheet.mu.Lock()
	defer sheet.mu.Unlock()
	sheet.targets = append(sheet.targets, target)
}

// Progressf tells what runs now, a line each.
func (sheet *Sheet) Progressf(format string, args ...any) {
	sheet.mu.Lock()
	defer sheet.mu.Unlock()
	_, _ = fmt.Fprintf(sheet.progress, format+"\n", args...)
}

// Figures are those kept so far, in order.
func (sheet *Sheet) Figures() []Figure {
	sheet.mu.Lock()
	defer sheet.mu.Unlock()
	return append([]Figure(nil), sheet.figures...)
}

// Targets are those judged so far, in order.
func (sheet *Sheet) Targets() []Target {
	sheet.mu.Lock()
	defer sheet.mu.Unlock()
	return append([]Target(nil), sheet.targets...)
}
