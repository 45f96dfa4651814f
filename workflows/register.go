package workflows

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
)

// RegisterDispatch registers the passes on the worker of [Queues.Dispatch].
//
// Pinned: a pass lasts seconds, so it ends on the build it began on.
func RegisterDispatch(registry worker.Registry, activities *dispatch.Activities) {
	registerWorkflow(registry, DispatchWorkflow, NameDispatch, workflow.VersioningBehaviorPinned)
	registerActivity(registry, activities.Recover, ActivityRecover)
	registerActivity(registry, activities.StartOverrides, ActivityStartOverrides)
	registerActivity(registry, activities.StartExempt, ActivityStartExempt)
	registerActivity(registry, activities.StartGoverned, ActivityStartGoverned)
	registerActivity(registry, activities.Prune, ActivityPrune)
}

// RegisterGoverned registers the governed lane on the worker of [Queues.Governed].
//
// Pinned: it lasts at most a window, and what is lost with its build is
// recovered by a pass.
func RegisterGoverned(registry worker.Registry, activities *governed.Activities) {
	registerWorkflow(registry, EmitGoverned, NameEmitGoverned, workflow.VersioningBehaviorPinned)
	registerActivity(registry, activities.Admit, ActivityAdmitWorks)
	registerActivity(registry, activities.EmitChunk, ActivityEmitGoverned)
}

// RegisterOverride registers the override lane on the worker of [Queues.Override].
//
// Auto-upgrade: an override is retried as long as the third party is down, over
// any number of deployments, and must not wait for a build that is gone. Changes
// are guarded by workflow.GetVersion and by the recorded histories.
func RegisterOverride(registry worker.Registry, activities *override.Activities) {
	registerWorkflow(registry, EmitOverride, NameEmitOverride, workflow.VersioningBehaviorAutoUpgrade)
	registerActivity(registry, activities.Emit, ActivityEmitOverride)
}

// RegisterExempt registers the exempt lane on the worker of [Queues.Exempt].
//
// Auto-upgrade, for the same reason as the override lane.
func RegisterExempt(registry worker.Registry, activities *exempt.Activities) {
	registerWorkflow(registry, EmitExempt, NameEmitExempt, workflow.VersioningBehaviorAutoUpgrade)
	registerActivity(registry, activities.EmitChunk, ActivityEmitExempt)
}

// RegisterGate registers what [Admit] and [Spend] need in a worker of your own.
func RegisterGate(registry worker.Registry, activities *gate.Activities) {
	registerActivity(registry, activities.Admit, ActivityGateAdmit)
	registerActivity(registry, activities.Spend, ActivityGateSpend)
}

func registerWorkflow(registry worker.Registry, function any, name string, behavior workflow.VersioningBehavior) {
	registry.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name, VersioningBehavior: behavior})
}

func registerActivity(registry worker.Registry, function any, name string) {
	registry.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
}
