package endtoend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/playground"
)

// chunk is the EMISSION_CHUNK that is measured.
const chunk = 100

// settings of our worker: the defaults but for the chunk, a ceiling that is never
// in the way, and passes as often and as large as may be.
func settings(overrides ...string) []string {
	return append([]string{
		"EMISSION_CHUNK=100", "DISPATCH_INTERVAL=1s", "DISPATCH_JITTER=0s", "DISPATCH_BATCH=10000",
		"QUOTA_ENFORCE=bench:true", "QUOTA_HOURLY_CEILING=1000000000", "ADJOURN_LOG_LEVEL=warn",
	}, overrides...)
}

// stage is what all contenders play on.
type stage struct {
	*playground.Playground
	party *thirdParty
}

func openStage(ctx context.Context) (opened *stage, err error) {
	cfg, err := config.LoadFrom(settings("ADJOURN_METRICS_ADDR="))
	if err != nil {
		return nil, err
	}
	party, err := startThirdParty()
	if err != nil {
		return nil, err
	}
	started, err := playground.Start(ctx, playground.Options{Config: cfg, Logger: zap.NewNop()})
	if err != nil {
		party.stop()
		return nil, err
	}
	started.Config.Emitter.URL = config.NewURL(party.url)
	return &stage{Playground: started, party: party}, nil
}

// stopTimeout bounds taking the stage down.
const stopTimeout = time.Minute

func (stage *stage) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := stage.Stop(ctx)
	stage.party.stop()
	return err
}

// Waits ask at this interval; what is waited for takes seconds.
const pollInterval = 20 * time.Millisecond

// await asks until the answer is true; asking costs little beside what is measured.
func await(ctx context.Context, what string, ask func() (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		done, err := ask()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

// emptied tells whether a query that finds one row of what is left finds none.
// Nothing is asked before all have arrived: until then the answer is known.
func (stage *stage) emptied(ctx context.Context, before int64, works int, query string) func() (bool, error) {
	return func() (bool, error) {
		if stage.party.arrived.Load()-before < int64(works) {
			return false, nil
		}
		var left bool
		err := stage.Pool.QueryRow(ctx, "SELECT EXISTS ("+query+")").Scan(&left)
		return !left, err
	}
}

// checkArrivals holds every contender to one call per work.
func (stage *stage) checkArrivals(before int64, works int) error {
	if arrived := stage.party.arrived.Load() - before; arrived != int64(works) {
		return fmt.Errorf("%d works made %d arrivals", works, arrived)
	}
	return nil
}

// history sums the events of all closed workflows that the query finds, and waits
// until the server's index has all of them and none is running.
func (stage *stage) history(ctx context.Context, query string, atLeast int) (events int64, workflows int, err error) {
	err = await(ctx, "the workflows' histories", func() (bool, error) {
		events, workflows = 0, 0
		running, err := stage.count(ctx, query+" AND ExecutionStatus = 'Running'")
		if err != nil || running > 0 {
			return false, err
		}
		var token []byte
		for {
			page, err := stage.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
				Query: query, PageSize: 1000, NextPageToken: token,
			})
			if err != nil {
				return false, err
			}
			for _, execution := range page.GetExecutions() {
				events += execution.GetHistoryLength()
				workflows++
			}
			if token = page.GetNextPageToken(); len(token) == 0 {
				return workflows >= atLeast, nil
			}
		}
	})
	return events, workflows, err
}

func (stage *stage) count(ctx context.Context, query string) (int64, error) {
	answer, err := stage.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	return answer.GetCount(), err
}

// since is the part of a visibility query that leaves out earlier rounds.
func since(started time.Time) string {
	return "StartTime >= '" + started.UTC().Format(time.RFC3339Nano) + "'"
}

// joined is the first error, with what stopping added.
func joined(err error, stop func() error) error { return errors.Join(err, stop()) }
