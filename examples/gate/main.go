// Command gate is a Temporal worker of someone else's that keeps Adjourn's quota:
// its workflow asks the gate before its own activity emits. It needs Adjourn's
// database and nothing else of Adjourn.
//
//	DATABASE_URL=postgres://… TEMPORAL_ADDRESS=… go run ./examples/gate
//
// Then start a workflow of type Remind on the task queue reminders.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
	"github.com/adjourn/adjourn/workflows"
)

const taskQueue = "reminders"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	address := os.Getenv("DATABASE_URL")
	if address == "" {
		return errors.New("DATABASE_URL: empty, accepted is the database that Adjourn uses")
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return fmt.Errorf("open the database (DATABASE_URL): %w", err)
	}
	defer pool.Close()
	temporalClient, err := client.DialContext(ctx, envconfig.MustLoadDefaultClientOptions())
	if err != nil {
		return fmt.Errorf("connect to Temporal (TEMPORAL_ADDRESS): %w", err)
	}
	defer temporalClient.Close()
	return work(ctx, temporalClient, pool, settings{
		window: time.Hour,
		policy: quota.Policy{Ceiling: 1000, Flows: map[string]bool{flow: true}},
		deliver: func(_ context.Context, reminder Reminder) error {
			log.Printf("reminding %s", reminder.Customer)
			return nil
		},
	})
}

// settings must say of window and ceiling what Adjourn's own workers are told:
// it is one quota.
type settings struct {
	window  time.Duration
	policy  quota.Policy
	deliver func(context.Context, Reminder) error
}

// work runs the worker until ctx ends.
func work(ctx context.Context, temporalClient client.Client, pool *pgxpool.Pool, settings settings) error {
	//nolint:contextcheck // The arbiter's own goroutine outlives each caller; Close ends it.
	arbiter := quotapostgres.NewArbiter(pool, quotapostgres.Options{Window: settings.window})
	defer arbiter.Close()
	reminders := worker.New(temporalClient, taskQueue, worker.Options{WorkerStopTimeout: 15 * time.Second})
	workflows.RegisterGate(reminders, &gate.Activities{
		Clock: workpostgres.New(pool), Arbiter: arbiter, Margin: 15 * time.Minute,
		Policy: func(context.Context) (quota.Policy, error) { return settings.policy, nil },
	})
	reminders.RegisterWorkflow(Remind)
	reminders.RegisterActivity(&Sender{Deliver: settings.deliver})
	if err := reminders.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	<-ctx.Done()
	reminders.Stop()
	return nil
}
