package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWorkflowIDsAreDeterministic: the same carriage has the same ID wherever and
// whenever it is started, and no two have one.
func TestWorkflowIDsAreDeterministic(t *testing.T) {
	t.Parallel()
	require.Equal(t, "adjourn/governed/2026-12-01T12:00:00Z/7", GovernedWorkflowID(noon, 7))
	require.Equal(t, GovernedWorkflowID(noon, 7),
		GovernedWorkflowID(noon.In(time.FixedZone("Asia/Kolkata", 19800)), 7), "whatever the time zone")
	require.Equal(t, "adjourn/override/7", OverrideWorkflowID(7))
	require.Equal(t, "adjourn/exempt/7", ExemptWorkflowID(7))
	require.NotEqual(t, GovernedWorkflowID(noon, 7), GovernedWorkflowID(noon.Add(time.Second), 7),
		"windows are seconds long at the shortest")
}
