package app

import (
	"maps"
	"slices"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/workflows"
)

// Policy is what the environment says of the ceiling and the flows.
func Policy(cfg config.Config) quota.Policy {
	return quota.Policy{
		Ceiling:     cfg.Quota.Ceiling.Limit,
		Flows:       maps.Clone(map[string]bool(cfg.Quota.Enforce)),
		ExemptFlows: slices.Clone([]string(cfg.Quota.ExemptFlows)),

		UndatedShare: cfg.Quota.UndatedShare,
	}
}

// knownFlows are those the operator named, sorted: each gets its own label value.
func knownFlows(policy quota.Policy) []string {
	flows := append(policy.Governed(), policy.ExemptFlows...)
	slices.Sort(flows)
	return slices.Compact(flows)
}

// QuotaOptions are those of everything that touches the quota's tables.
func QuotaOptions(cfg config.Config) quotapostgres.Options {
	return quotapostgres.Options{
		Window: cfg.Quota.Window, HoldMax: cfg.Quota.HoldMax,
		// One statement, and the wait for a connection before it.
		Timeout: 2 * cfg.Quota.StatementTimeout,
	}
}

// Queues are the platform's task queues.
func Queues(cfg config.Config) workflows.Queues {
	return workflows.QueuesWith(cfg.Worker.TaskQueuePrefix)
}

// Schedule is when passes run.
func Schedule(cfg config.Config) workflows.ScheduleOptions {
	return workflows.ScheduleOptions{
		Queues: Queues(cfg), Interval: cfg.Dispatch.Interval, Jitter: cfg.Dispatch.Jitter,
	}
}
