package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/workflows"
)

// Worker is one process's part on the task queues: a worker for each lane it
// serves, the connections they need, accounting, and its metrics page.
type Worker struct {
	parts   *parts
	lanes   []laneWorker
	address string
	fatal   chan error
}

// laneWorker is the Temporal worker of one lane.
type laneWorker struct {
	name   string
	worker worker.Worker
}

// NewWorker opens what a worker needs and registers the lanes, without taking
// any work yet; [Worker.Run] does, and closes everything. It refuses a database
// whose schema is not this program's. The configuration must be valid.
func NewWorker(ctx context.Context, cfg config.Config, dependencies Dependencies) (*Worker, error) {
	parts := newParts(cfg, dependencies)
	started := &Worker{parts: parts, fatal: make(chan error, 1)}
	if err := started.open(ctx, dependencies); err != nil {
		return nil, errors.Join(err, parts.cleanups.close(ctx))
	}
	return started, nil
}

func (process *Worker) open(ctx context.Context, dependencies Dependencies) error {
	parts := process.parts
	pools, err := openPools(ctx, parts)
	if err != nil {
		return err
	}
	if err := CheckSchema(ctx, pools.general); err != nil {
		return err
	}
	if err := agreeOnWindow(ctx, pools.general, parts.config.Quota.Window); err != nil {
		return err
	}
	temporal, err := parts.dialTemporal(dependencies.Temporal, func(options client.Options) (client.Client, error) {
		return DialTemporal(ctx, options)
	})
	if err != nil {
		return err
	}
	lanes, err := newLanes(ctx, parts, pools, temporal, dependencies)
	if err != nil {
		return err
	}
	if address := parts.config.Server.MetricsAddress; address != "" {
		server, err := parts.listen(ctx, address, parts.checks(pools.general, temporal))
		if err != nil {
			return fmt.Errorf("ADJOURN_METRICS_ADDR: %w", err)
		}
		process.address = server.Addr()
	}
	for _, lane := range lanes.served() {
		process.lanes = append(process.lanes, process.newLaneWorker(temporal, lane))
	}
	return nil
}

// MetricsAddr is where metrics and health are shown, "host:port"; empty when
// they are off.
func (process *Worker) MetricsAddr() string { return process.address }

// pollersMax bounds the pollers of each kind on one task queue; the server scales
// them below that.
const pollersMax = 10

func (process *Worker) newLaneWorker(temporal client.Client, lane lane) laneWorker {
	settings := process.parts.config.Worker
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 2, MinimumNumberOfPollers: 1, MaximumNumberOfPollers: pollersMax,
	})
	options := worker.Options{
		Identity:                               identity(),
		MaxConcurrentActivityExecutionSize:     lane.activities,
		MaxConcurrentWorkflowTaskExecutionSize: lane.workflowTasks,
		WorkflowTaskPollerBehavior:             pollers,
		ActivityTaskPollerBehavior:             pollers,
		WorkerStopTimeout:                      settings.StopTimeout,
		DisableRegistrationAliasing:            true,
		OnFatalError: func(err error) {
			select {
			case process.fatal <- fmt.Errorf("lane %s: %w", lane.name, err):
			default: // another lane's came first
			}
		},
	}
	if settings.DeploymentName != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true,
			Version: worker.WorkerDeploymentVersion{
				DeploymentName: settings.DeploymentName, BuildID: settings.BuildID,
			},
		}
	}
	created := worker.New(temporal, lane.queue, options)
	lane.register(created)
	return laneWorker{name: lane.name, worker: created}
}

// identity names this process to Temporal.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("adjourn/%d@%s", os.Getpid(), host)
}

// Run takes work until ctx ends or a lane breaks, then stops: attempts under way
// end within ADJOURN_WORKER_STOP_TIMEOUT, what accounting holds is written,
// everything is closed. Nil means that ctx ended and all stopped well. Call it
// once.
func (process *Worker) Run(ctx context.Context) error {
	logger := process.parts.logger
	err := process.start()
	if err == nil {
		logger.Info("worker started", zap.Strings("lanes", process.laneNames()))
		select {
		case <-ctx.Done():
			logger.Info("worker stopping: attempts under way are ended first",
				zap.Duration("at_most", process.parts.config.Worker.StopTimeout))
		case err = <-process.fatal:
			logger.Error("worker broke", zap.Error(err))
		}
	}
	process.stopLanes()
	err = errors.Join(err, process.parts.cleanups.close(ctx))
	logger.Info("worker stopped")
	return err
}

func (process *Worker) laneNames() []string {
	names := make([]string, len(process.lanes))
	for i, lane := range process.lanes {
		names[i] = lane.name
	}
	return names
}

func (process *Worker) start() error {
	for i, lane := range process.lanes {
		if err := lane.worker.Start(); err != nil {
			process.lanes = process.lanes[:i] // those that have started
			var missing *serviceerror.NamespaceNotFound
			if errors.As(err, &missing) {
				return fmt.Errorf("lane %s: %w: run `adjourn setup`, or set TEMPORAL_NAMESPACE", lane.name, err)
			}
			return fmt.Errorf("start lane %s: %w", lane.name, err)
		}
	}
	return nil
}

// stopLanes stops all lanes at once, so that they share one stop time-out.
func (process *Worker) stopLanes() {
	var stopping sync.WaitGroup
	for _, lane := range process.lanes {
		stopping.Go(lane.worker.Stop)
	}
	stopping.Wait()
}

// searchAttributesTimeout bounds the question whether they are registered.
const searchAttributesTimeout = 5 * time.Second

// hasSearchAttributes tells whether workflows may carry search attributes; when
// they may not, it says so once.
func hasSearchAttributes(ctx context.Context, logger *zap.Logger, temporal client.Client, namespace string) bool {
	ctx, cancel := context.WithTimeout(ctx, searchAttributesTimeout)
	defer cancel()
	missing, err := workflows.SearchAttributesMissing(ctx, temporal, namespace)
	if err == nil && len(missing) == 0 {
		return true
	}
	logger.Warn("workflows go without search attributes: `adjourn setup` registers them",
		zap.Strings("missing", slices.Clone(missing)), zap.Error(err))
	return false
}
