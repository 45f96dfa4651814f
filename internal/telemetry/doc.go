// Package telemetry is what a process shows of itself: logs, metrics, health.
// Nothing here decides anything; a platform with metrics switched off keeps the
// quota all the same (A01).
//
// Label values are bounded and exist from the start: flows named by the operator
// and one value for all others, lanes, reasons, outcomes. Never an id.
package telemetry
