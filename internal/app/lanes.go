package app

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/accounting"
	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
	"github.com/adjourn/adjourn/workflows"
)

// pools are a worker's connections; see the package comment for why there are
// three.
type pools struct {
	arbiter  *pgxpool.Pool
	override *pgxpool.Pool
	general  *pgxpool.Pool
}

// generalExtra is what the general pool has beside EMISSION_POOL_SIZE: passes,
// accounting and the readiness checks.
const generalExtra = 4

func openPools(ctx context.Context, parts *parts) (opened pools, err error) {
	cfg := parts.config
	arbiterLimits := func(settings *pgxpool.Config) {
		quotapostgres.ConfigurePool(settings, cfg.Quota.LockTimeout, cfg.Quota.StatementTimeout)
	}
	laneLimits := func(settings *pgxpool.Config) {
		workpostgres.ConfigurePool(settings, settings.ConnConfig.RuntimeParams["application_name"])
	}
	var errs [3]error
	opened.arbiter, errs[0] = parts.openPool(ctx, "arbiter", cfg.Quota.PoolSize, arbiterLimits)
	opened.override, errs[1] = parts.openPool(ctx, "override", cfg.Emission.OverridePoolSize, laneLimits)
	opened.general, errs[2] = parts.openPool(ctx, "general", cfg.Emission.PoolSize+generalExtra, laneLimits)
	return opened, errors.Join(errs[:]...)
}

// lane is one task queue a worker may serve.
type lane struct {
	name, queue string
	// activities and workflowTasks run at once, at most.
	activities, workflowTasks int
	register                  func(worker.Registry)
}

// Bounds of what one process does at once.
const (
	// passActivities: a pass runs its steps one after another, and one pass runs
	// at a time.
	passActivities    = 4
	passWorkflowTasks = 10
	laneWorkflowTasks = 100
	// chunksPerConnection: an emission uses a connection for two statements and
	// waits for the third party in between.
	chunksPerConnection = 8
)

// lanes makes the activities of each lane from what the process opened.
type lanes struct {
	parts    *parts
	pools    pools
	temporal client.Client
	policy   quota.Policy
	queues   workflows.Queues
	metrics  *telemetry.Metrics
	counter  *accounting.Counter
	arbiter  *quotapostgres.Arbiter
	admitter work.Admitter
	urgent   emitter.Emitter
	others   emitter.Emitter
	// searchAttributes are registered.
	searchAttributes bool
}

func newLanes(
	ctx context.Context, parts *parts, pools pools, temporal client.Client, dependencies Dependencies,
) (*lanes, error) {
	cfg := parts.config
	lanes := &lanes{
		parts: parts, pools: pools, temporal: temporal, policy: Policy(cfg), queues: Queues(cfg),
	}
	var err error
	if lanes.metrics, err = telemetry.NewMetrics(parts.registry, knownFlows(lanes.policy)); err != nil {
		return nil, err
	}
	if lanes.urgent, lanes.others, err = parts.openEmitters(dependencies.Emitter); err != nil {
		return nil, err
	}
	//nolint:contextcheck // The arbiter's combiner lives until Close, not as long as this call.
	lanes.arbiter = quotapostgres.NewArbiter(pools.arbiter, QuotaOptions(cfg))
	parts.cleanups.add("arbiter", closePoolTimeout, func(context.Context) error {
		lanes.arbiter.Close()
		return nil
	})
	lanes.admitter = lanes.newAdmitter()
	lanes.counter = newCounter(ctx, parts, pools.general, lanes.metrics)
	lanes.searchAttributes = hasSearchAttributes(ctx, parts.logger, temporal, dependencies.Temporal.Namespace)
	return lanes, nil
}

// newCounter starts the accounting, which is flushed at the end.
func newCounter(
	ctx context.Context, parts *parts, db *pgxpool.Pool, metrics *telemetry.Metrics,
) *accounting.Counter {
	store := &workpostgres.Accounting{
		Store: workpostgres.New(db), Register: quotapostgres.NewRegister(QuotaOptions(parts.config)),
	}
	counter := accounting.New(store, metrics, parts.logger, accounting.Options{})
	counter.Start(ctx)
	parts.cleanups.add("accounting", closeCounterTimeout, counter.Close)
	return counter
}

// newAdmitter asks the arbiter on the arbiter's own connections, and goes on
// without it on the general ones.
func (lanes *lanes) newAdmitter() work.Admitter {
	cfg := lanes.parts.config
	return &workpostgres.Admitter{
		Store:    workpostgres.New(lanes.pools.general),
		Arbiter:  workpostgres.New(lanes.pools.arbiter),
		Register: quotapostgres.NewRegister(QuotaOptions(cfg)),
		Policy:   lanes.currentPolicy,
		Margin:   cfg.Deadline.OverrideMargin,
		Timeout:  2 * cfg.Quota.StatementTimeout,
		Failed: func(err error) {
			lanes.metrics.ArbiterFailed()
			lanes.parts.logger.Error("the arbiter could not be asked: enforced works are deferred meanwhile",
				zap.Error(err))
		},
	}
}

func (lanes *lanes) currentPolicy(context.Context) (quota.Policy, error) { return lanes.policy, nil }

// served are the lanes the configuration names.
func (lanes *lanes) served() []lane {
	emission := lanes.parts.config.Emission
	all := []lane{
		{
			name: "dispatch", queue: lanes.queues.Dispatch,
			activities: passActivities, workflowTasks: passWorkflowTasks, register: lanes.registerDispatch,
		},
		{
			name: "governed", queue: lanes.queues.Governed,
			activities: chunksPerConnection * emission.PoolSize, workflowTasks: laneWorkflowTasks,
			register: lanes.registerGoverned,
		},
		{
			name: "override", queue: lanes.queues.Override,
			activities: 2 * chunksPerConnection * emission.OverridePoolSize, workflowTasks: laneWorkflowTasks,
			register: lanes.registerOverride,
		},
		{
			name: "exempt", queue: lanes.queues.Exempt,
			activities: chunksPerConnection * emission.PoolSize, workflowTasks: laneWorkflowTasks,
			register: lanes.registerExempt,
		},
	}
	return slices.DeleteFunc(all, func(lane lane) bool {
		return !slices.Contains(lanes.parts.config.Worker.Lanes, lane.name)
	})
}

func (lanes *lanes) registerDispatch(registry worker.Registry) {
	cfg := lanes.parts.config
	workflows.RegisterDispatch(registry, &dispatch.Activities{
		Register:  workpostgres.New(lanes.pools.general),
		Overrides: workpostgres.New(lanes.pools.override),
		Admitter:  lanes.admitter,
		Starter: workflows.Starter{
			Client: lanes.temporal, Queues: lanes.queues, SearchAttributes: lanes.searchAttributes,
		},
		Slots:  lanes.arbiter,
		Policy: lanes.currentPolicy,
		Meter:  lanes.metrics,
		Options: dispatch.Options{
			Batch: cfg.Dispatch.Batch, Chunk: cfg.Emission.Chunk,
			Margin: cfg.Deadline.OverrideMargin, Window: cfg.Quota.Window,
			RestartAfter: cfg.Dispatch.RestartAfter, NoRetryFlows: cfg.Emission.ExemptRetry.Once(),
			Backoff: backoff(cfg), Retention: cfg.Works.Retention,
		},
	})
}

func (lanes *lanes) registerGoverned(registry worker.Registry) {
	cfg := lanes.parts.config
	store := workpostgres.New(lanes.pools.general)
	rate := quota.CadenceRate{PerSecond: cfg.Cadence.PerSecond, Burst: cfg.Cadence.Burst}
	cadence := quotapostgres.NewCadence(lanes.pools.arbiter, QuotaOptions(cfg), rate)
	workflows.RegisterGoverned(registry, &governed.Activities{
		Recorder: store, Releaser: store, Admitter: lanes.admitter,
		Emitter: lanes.others, Arbiter: lanes.arbiter, Pace: governed.NewPace(cadence, rate),
		Meter: lanes.metrics, Options: attemptOptions(cfg),
	})
}

func (lanes *lanes) registerOverride(registry worker.Registry) {
	workflows.RegisterOverride(registry, &override.Activities{
		Recorder: workpostgres.New(lanes.pools.override), Emitter: lanes.urgent,
		Counter: lanes.counter, Meter: lanes.metrics, Options: attemptOptions(lanes.parts.config),
	})
}

func (lanes *lanes) registerExempt(registry worker.Registry) {
	cfg := lanes.parts.config
	workflows.RegisterExempt(registry, &exempt.Activities{
		Recorder: workpostgres.New(lanes.pools.general), Emitter: lanes.others,
		Counter: lanes.counter, Meter: lanes.metrics, Options: attemptOptions(cfg),
		NoRetryFlows: cfg.Emission.ExemptRetry.Once(),
	})
}

func attemptOptions(cfg config.Config) governed.Options {
	return governed.Options{
		Timeout: cfg.Emission.Timeout, Guard: cfg.Quota.WindowGuard, Window: cfg.Quota.Window,
		Backoff: backoff(cfg),
	}
}

func backoff(cfg config.Config) work.Backoff {
	return work.Backoff{Base: cfg.Emission.BackoffBase, Max: cfg.Emission.BackoffMax}
}
