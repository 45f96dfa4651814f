package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/workflows"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func quiet() temporallog.Logger {
	return temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))
}

func newEnvironment(deliver func(context.Context, Reminder) error) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet())
	environment := suite.NewTestWorkflowEnvironment()
	workflows.RegisterGate(environment, &gate.Activities{})
	environment.RegisterActivity(&Sender{Deliver: deliver})
	return environment
}

// TestRemindWaitsForRoom: deferred is an answer to sleep on, not a failure.
func TestRemindWaitsForRoom(t *testing.T) {
	t.Parallel()
	sent := 0
	environment := newEnvironment(func(context.Context, Reminder) error { sent++; return nil })
	begun := environment.Now()
	retryAt := begun.Add(10 * time.Minute)
	environment.OnActivity(workflows.ActivityGateAdmit, mock.Anything, mock.Anything).
		Return(gate.Answer{Verdict: gate.Deferred, RetryAt: retryAt}, nil).Once()
	environment.OnActivity(workflows.ActivityGateAdmit, mock.Anything, mock.Anything).
		Return(gate.Answer{Verdict: gate.Granted}, nil).Once()
	environment.ExecuteWorkflow(Remind, Reminder{Customer: "a"})
	require.NoError(t, environment.GetWorkflowError())
	require.Equal(t, 1, sent)
	require.False(t, environment.Now().Before(retryAt))
}

// TestEachAttemptAsksAgain: an attempt costs a slot, so none is retried on the
// same one; they are bounded.
func TestEachAttemptAsksAgain(t *testing.T) {
	t.Parallel()
	sent := 0
	environment := newEnvironment(func(context.Context, Reminder) error { sent++; return errors.New("no answer") })
	environment.OnActivity(workflows.ActivityGateAdmit, mock.Anything, mock.Anything).
		Return(gate.Answer{Verdict: gate.Granted}, nil).Times(attemptsMax)
	environment.ExecuteWorkflow(Remind, Reminder{Customer: "a"})
	require.ErrorContains(t, environment.GetWorkflowError(), errAttemptsUsed.Error())
	require.Equal(t, attemptsMax, sent)
	environment.AssertExpectations(t)
}

// TestOnTheRealThing: a worker of one's own against Adjourn's database and a real
// Temporal server. The window holds one: the first reminder is sent, the urgent
// one too, the third waits in an ordinary timer.
func TestOnTheRealThing(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartTemporal(t.Context(), devstack.TemporalOptions{Progress: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	temporalClient, err := client.DialContext(t.Context(), client.Options{
		HostPort: server.HostPort, Namespace: server.Namespace, Logger: quiet(),
	})
	require.NoError(t, err)
	t.Cleanup(temporalClient.Close)
	var mu sync.Mutex
	var delivered []string
	ctx, stop := context.WithCancel(t.Context())
	pool, stopped := dbtest.New(t), make(chan error, 1)
	go func() {
		stopped <- work(ctx, temporalClient, pool, settings{
			window: quota.Day, policy: quota.Policy{Ceiling: 1, Flows: map[string]bool{flow: true}},
			deliver: func(_ context.Context, reminder Reminder) error {
				mu.Lock()
				defer mu.Unlock()
				delivered = append(delivered, reminder.Customer)
				return nil
			},
		})
	}()
	remind := func(reminder Reminder) client.WorkflowRun {
		run, err := temporalClient.ExecuteWorkflow(ctx,
			client.StartWorkflowOptions{ID: "remind-" + reminder.Customer, TaskQueue: taskQueue}, Remind, reminder)
		require.NoError(t, err)
		return run
	}
	require.NoError(t, remind(Reminder{Customer: "first"}).Get(ctx, nil))
	waiting := remind(Reminder{Customer: "waiting"})
	require.NoError(t, remind(Reminder{Customer: "urgent", Deadline: time.Now()}).Get(ctx, nil))
	require.Eventually(t, func() bool { return isAsleep(ctx, temporalClient, waiting) }, time.Minute, 20*time.Millisecond)
	stop()
	require.NoError(t, <-stopped)
	require.Equal(t, []string{"first", "urgent"}, delivered)
}

func isAsleep(ctx context.Context, temporalClient client.Client, run client.WorkflowRun) bool {
	events := temporalClient.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return false
		}
		if event.EventType == enums.EVENT_TYPE_TIMER_STARTED {
			return true
		}
	}
	return false
}

// TestDatabaseURLIsRequired: a mistake is named.
func TestDatabaseURLIsRequired(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	require.EqualError(t, run(t.Context()), fmt.Sprintf("%s: empty, accepted is the database that Adjourn uses", "DATABASE_URL"))
}
