package workflows_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/workflows"
)

// TestRecordedHistoriesReplay: what runs today can go on under this code.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	for _, file := range historyFiles(t) {
		t.Run(strings.TrimPrefix(file, histories+"/"), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			registerWorkflows(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet(), file))
		})
	}
}

// TestChangedWorkflowDoesNotReplay proves that the test above can fail: a lane
// that forgot to admit its works, a pass that asks the arbiter first.
func TestChangedWorkflowDoesNotReplay(t *testing.T) {
	t.Parallel()
	changed := map[string]any{
		workflows.NameEmitGoverned + "/direct_granted.json": func(ctx workflow.Context, input workflows.EmitGovernedInput) (workflows.Emission, error) {
			input.SlotStart = slotStart
			return workflows.EmitGoverned(ctx, input)
		},
		workflows.NameDispatch + "/every_lane.json": func(ctx workflow.Context, _ workflows.DispatchInput) (workflows.PassSummary, error) {
			options := workflow.ActivityOptions{StartToCloseTimeout: 1}
			ctx = workflow.WithActivityOptions(ctx, options)
			return workflows.PassSummary{}, workflow.ExecuteActivity(ctx, workflows.ActivityStartGoverned).Get(ctx, nil)
		},
	}
	for file, function := range changed {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(file, "/")
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name})
			require.ErrorContains(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet(), histories+"/"+file), "TMPRL1100")
		})
	}
}

// mayTravel lists every name that may stand in what workflows are given, ask and
// answer. A payload has none (G10).
var mayTravel = []string{
	"id", "flow", "deadline", "works", "work", "workflow_id", "slot_start", "search_attributes",
	"results", "result", "gone", "outcome", "reason", "retry_at", "number", "refused",
	"chosen", "granted", "would_defer", "deferred", "overridden", "exempt", "starts", "restarts",
	"started", "running", "failed", "problem", "problems", "starts_failed", "quota_full",
	"woken", "expired_slots", "lost_attempts", "restarted", "pruned",
	"key", "verdict", "lane", "slot_end",
}

// TestHistoriesHoldNoPayload walks every value in every history: only the names
// above travel, and none holds bytes (G10).
func TestHistoriesHoldNoPayload(t *testing.T) {
	t.Parallel()
	for _, file := range historyFiles(t) {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var recorded any
		require.NoError(t, json.Unmarshal(content, &recorded))
		values := payloadsIn(t, recorded)
		require.NotEmpty(t, values, file)
		for _, value := range values {
			requireNamesMayTravel(t, file, value)
		}
	}
}

// payloadsIn collects what Temporal calls payloads: the values that travel,
// wherever they stand.
func payloadsIn(t *testing.T, node any) (values []any) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		if data, isPayload := node["data"].(string); isPayload && node["metadata"] != nil {
			decoded, err := base64.StdEncoding.DecodeString(data)
			require.NoError(t, err)
			var value any
			require.NoError(t, json.Unmarshal(decoded, &value), "a value that is not JSON travels: %q", decoded)
			return []any{value}
		}
		for _, child := range node {
			values = append(values, payloadsIn(t, child)...)
		}
	case []any:
		for _, child := range node {
			values = append(values, payloadsIn(t, child)...)
		}
	}
	return values
}

func requireNamesMayTravel(t *testing.T, file string, node any) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		for name, child := range node {
			require.True(t, slices.Contains(mayTravel, name), "%s: %q travels through Temporal", file, name)
			requireNamesMayTravel(t, file, child)
		}
	case []any:
		for _, child := range node {
			requireNamesMayTravel(t, file, child)
		}
	}
}
