package workflows_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
	"github.com/adjourn/adjourn/workflows"
)

func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func newEnvironment(script *script) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet())
	environment := suite.NewTestWorkflowEnvironment()
	environment.SetTestTimeout(30 * time.Second)
	registerAll(environment, script)
	return environment
}

// requireResult compares what the workflow came to as its caller reads it.
func requireResult(t *testing.T, path path, read func(any) error) {
	t.Helper()
	var got json.RawMessage
	err := read(&got)
	if path.fails != "" {
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.Equal(t, path.fails, application.Type())
		return
	}
	require.NoError(t, err)
	want, err := json.Marshal(path.want)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

// TestPaths runs every path through every workflow (G3, G8, A30, A32).
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, path := range paths() {
		t.Run(path.workflow+"/"+path.name, func(t *testing.T) {
			t.Parallel()
			script := newScript(path.answers)
			environment := newEnvironment(script)
			environment.ExecuteWorkflow(path.workflow, path.input)
			require.True(t, environment.IsWorkflowCompleted())
			requireResult(t, path, environment.GetWorkflowResult)
			script.requirePlayed(t)
		})
	}
}

// TestPassGoesInOrder: urgent works go before anything asks the arbiter, and a
// step that fails stops none after it (G2, A44).
func TestPassGoesInOrder(t *testing.T) {
	t.Parallel()
	script := newScript(map[string][]answer{
		workflows.ActivityRecover: {{err: errors.New("no database")}},
	})
	environment := newEnvironment(script)
	environment.ExecuteWorkflow(workflows.NameDispatch, workflows.DispatchInput{})
	require.NoError(t, environment.GetWorkflowError())
	require.Equal(t, []string{
		workflows.ActivityRecover, workflows.ActivityStartOverrides, workflows.ActivityStartExempt,
		workflows.ActivityStartGoverned, workflows.ActivityPrune,
	}, script.called())
}

// TestRefusalReadsAsTheSourceNamesIt: the workflow's result is the words a caller
// reads (A30, A32).
func TestRefusalReadsAsTheSourceNamesIt(t *testing.T) {
	t.Parallel()
	script := newScript(map[string][]answer{workflows.ActivityAdmitWorks: {{
		result: governed.Admitted{Refused: []work.Result{deferred(first, quota.ReasonQuotaFull, slotEnd)}},
	}}})
	environment := newEnvironment(script)
	environment.ExecuteWorkflow(workflows.NameEmitGoverned, workflows.EmitGovernedInput{Works: []work.Ref{first}})
	var got json.RawMessage
	require.NoError(t, environment.GetWorkflowResult(&got))
	require.JSONEq(t, `{"results":[{"id":41,"outcome":"deferred","reason":"quota_full","retry_at":"2026-03-01T15:00:00Z"}]}`,
		string(got))
	require.NotContains(t, script.called(), workflows.ActivityEmitGoverned)
}

// TestUnsentWorksAreTriedWhileTheirSlotLasts: only they are asked for again, the
// pauses grow, and the tries are bounded.
func TestUnsentWorksAreTriedWhileTheirSlotLasts(t *testing.T) {
	t.Parallel()
	answers := []answer{chunk(emitted(first, 1), unsent(second, "not_sent"))}
	for range 11 {
		answers = append(answers, chunk(unsent(second, "not_sent")))
	}
	script := newScript(map[string][]answer{workflows.ActivityEmitGoverned: answers})
	environment := newEnvironment(script)
	begun := environment.Now()
	environment.ExecuteWorkflow(workflows.NameEmitGoverned,
		workflows.EmitGovernedInput{Works: []work.Ref{first, second}, SlotStart: slotStart})
	var emission workflows.Emission
	require.NoError(t, environment.GetWorkflowResult(&emission))
	require.Equal(t, []work.Result{emitted(first, 1), unsent(second, "not_sent")}, emission.Results)
	script.requirePlayed(t)
	for _, input := range script.inputs[workflows.ActivityEmitGoverned][1:] {
		require.Equal(t, []work.Ref{second}, input.(governed.Input).Works)
		require.Equal(t, slotStart, input.(governed.Input).SlotStart)
	}
	// 1 + 2 + … + 256 s, then 300 s twice.
	require.InDelta(t, (511 + 600), environment.Now().Sub(begun).Seconds(), 2)
}

// TestOverrideIsRetried: an urgent work is tried until it is through, at
// intervals that stay short (G2).
func TestOverrideIsRetried(t *testing.T) {
	t.Parallel()
	var answers []answer
	for range 8 { // the environment has a limit of its own, a server has none
		answers = append(answers, answer{err: temporal.NewApplicationError("down", "uncertain")})
	}
	result := emitted(first, 1)
	script := newScript(map[string][]answer{
		workflows.ActivityEmitOverride: append(answers, answer{result: override.Output{Result: &result}}),
	})
	environment := newEnvironment(script)
	begun := environment.Now()
	environment.ExecuteWorkflow(workflows.NameEmitOverride, workflows.EmitOverrideInput{Work: first})
	require.NoError(t, environment.GetWorkflowError())
	script.requirePlayed(t)
	// 1 + 2 + … + 32 s, then a minute each time.
	require.InDelta(t, 63+120, environment.Now().Sub(begun).Seconds(), 2)
}
