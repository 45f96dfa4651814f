package endtoend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/bench/endtoend"
	"github.com/adjourn/adjourn/bench/report"
)

// TestRun is a smoke test: everything runs, every figure and target is there.
func TestRun(t *testing.T) {
	sheet := report.NewSheet(t.Output())
	require.NoError(t, endtoend.Run(t.Context(), sheet, endtoend.Options{Quick: true}))
	require.Len(t, sheet.Figures(), 7)
	for _, figure := range sheet.Figures() {
		require.Positive(t, figure.Value, figure)
	}
	require.Len(t, sheet.Targets(), 3)
	for _, target := range sheet.Targets() {
		require.Positive(t, target.Measured, target)
	}
}

// TestMemory is a smoke test with a real worker process.
func TestMemory(t *testing.T) {
	sheet := report.NewSheet(t.Output())
	require.NoError(t, endtoend.Memory(t.Context(), sheet, endtoend.Options{Quick: true}))
	require.Len(t, sheet.Figures(), 6)
	require.Len(t, sheet.Targets(), 2)
}
