package workflows_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/workflows"
)

// answer is what one call of an activity comes back with.
type answer struct {
	result any
	err    error
}

// script plays each activity's answers in order, and remembers what it was asked.
type script struct {
	mu      sync.Mutex
	answers map[string][]answer
	inputs  map[string][]any
	order   []string
	// meanwhile runs while the named activity does; nil runs nothing.
	meanwhile func(ctx context.Context, name string)
}

func newScript(answers map[string][]answer) *script {
	return &script{answers: answers, inputs: map[string][]any{}}
}

// play one call. A call the script does not know is an answer of nothing, so
// that a case says only what it is about.
func play[Output any](ctx context.Context, script *script, name string, input any) (output Output, err error) {
	if script.meanwhile != nil {
		script.meanwhile(ctx, name)
	}
	script.mu.Lock()
	defer script.mu.Unlock()
	call := len(script.inputs[name])
	script.inputs[name] = append(script.inputs[name], input)
	script.order = append(script.order, name)
	if call >= len(script.answers[name]) {
		return output, nil
	}
	next := script.answers[name][call]
	if next.result != nil {
		output = next.result.(Output)
	}
	return output, next.err
}

// requirePlayed fails the test when an answer was never asked for.
func (script *script) requirePlayed(t *testing.T) {
	t.Helper()
	for name, answers := range script.answers {
		require.Len(t, script.inputs[name], len(answers), "calls of %s", name)
	}
}

// called lists the activities so far, in the order they answered. One that was
// cancelled may answer after its workflow.
func (script *script) called() []string {
	script.mu.Lock()
	defer script.mu.Unlock()
	return slices.Clone(script.order)
}

func step[Output any](script *script, name string) func(context.Context) (Output, error) {
	return func(ctx context.Context) (Output, error) { return play[Output](ctx, script, name, nil) }
}

func ask[Input, Output any](script *script, name string) func(context.Context, Input) (Output, error) {
	return func(ctx context.Context, input Input) (Output, error) { return play[Output](ctx, script, name, input) }
}

// registerAll registers every workflow as the platform does, over scripted
// activities.
func registerAll(registry worker.Registry, script *script) {
	registerWorkflows(registry)
	for name, function := range map[string]any{
		workflows.ActivityRecover:        step[dispatch.Recovered](script, workflows.ActivityRecover),
		workflows.ActivityStartOverrides: step[dispatch.Chosen](script, workflows.ActivityStartOverrides),
		workflows.ActivityStartExempt:    step[dispatch.Chosen](script, workflows.ActivityStartExempt),
		workflows.ActivityStartGoverned:  step[dispatch.Admission](script, workflows.ActivityStartGoverned),
		workflows.ActivityPrune:          step[int](script, workflows.ActivityPrune),
		workflows.ActivityAdmitWorks:     ask[governed.Input, governed.Admitted](script, workflows.ActivityAdmitWorks),
		workflows.ActivityEmitGoverned:   ask[governed.Input, governed.Output](script, workflows.ActivityEmitGoverned),
		workflows.ActivityEmitOverride:   ask[override.Input, override.Output](script, workflows.ActivityEmitOverride),
		workflows.ActivityEmitExempt:     ask[exempt.Input, exempt.Output](script, workflows.ActivityEmitExempt),
		workflows.ActivityGateAdmit:      ask[gate.Request, gate.Answer](script, workflows.ActivityGateAdmit),
		workflows.ActivityGateSpend: func(ctx context.Context, request gate.Request) error {
			_, err := play[struct{}](ctx, script, workflows.ActivityGateSpend, request)
			return err
		},
	} {
		registry.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
	}
}

// workflowRegistry is what tests register workflows on: environments, workers,
// replayers.
type workflowRegistry interface {
	RegisterWorkflowWithOptions(function any, options workflow.RegisterOptions)
}

func registerWorkflows(registry workflowRegistry) {
	for name, function := range map[string]any{
		workflows.NameDispatch:     workflows.DispatchWorkflow,
		workflows.NameEmitGoverned: workflows.EmitGoverned,
		workflows.NameEmitOverride: workflows.EmitOverride,
		workflows.NameEmitExempt:   workflows.EmitExempt,
		nameGateUser:               gateUser,
	} {
		registry.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name})
	}
}

const nameGateUser = "GateUser"

// gateUser stands for a workflow of someone else's that asks the gate.
func gateUser(ctx workflow.Context, request gate.Request) (gate.Answer, error) {
	answer, err := workflows.Admit(ctx, request)
	if err != nil || answer.Verdict == gate.Deferred || request.Key == "" {
		return answer, err
	}
	return answer, workflows.Spend(ctx, request)
}
