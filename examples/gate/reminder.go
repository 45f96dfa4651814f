package main

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/workflows"
)

// flow is the type of what this program emits, as the quota's settings name it.
const flow = "reminder"

const (
	// attemptsMax bounds how often one reminder is sent: each attempt costs a slot.
	attemptsMax = 5
	// askAgainMax bounds the wait for a slot, in case the ceiling is raised
	// meanwhile.
	askAgainMax = 15 * time.Minute
)

// Reminder is what the workflow sends.
type Reminder struct {
	Customer string
	// Deadline by which it must be sent, quota or not; zero for none.
	Deadline time.Time
}

// errAttemptsUsed ends a reminder that could not be sent.
var errAttemptsUsed = errors.New("every attempt of this reminder failed")

// Remind sends one reminder as soon as the quota has room, or at its deadline
// whatever the quota says.
func Remind(ctx workflow.Context, reminder Reminder) error {
	for attempts := 0; attempts < attemptsMax; {
		answer, err := workflows.Admit(ctx, gate.Request{Flow: flow, Deadline: reminder.Deadline})
		if err != nil {
			return err
		}
		if answer.Verdict == gate.Deferred {
			if err := waitForRoom(ctx, answer, reminder.Deadline); err != nil {
				return err
			}
			continue
		}
		attempts++
		if err = send(ctx, reminder); err == nil || temporal.IsCanceledError(err) {
			return err
		}
	}
	return errAttemptsUsed
}

// waitForRoom sleeps until a slot may be free, or the deadline is near enough to
// be asked about again.
func waitForRoom(ctx workflow.Context, answer gate.Answer, deadline time.Time) error {
	wait := askAgainMax
	for _, instant := range []time.Time{answer.RetryAt, deadline} {
		if !instant.IsZero() {
			wait = min(wait, instant.Sub(workflow.Now(ctx)))
		}
	}
	return workflow.Sleep(ctx, max(wait, time.Second))
}

// send makes one attempt: another one would need another slot, so Temporal must
// not retry it.
func send(ctx workflow.Context, reminder Reminder) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, (&Sender{}).Send, reminder).Get(ctx, nil)
}

// Sender is this program's own way to its customers.
type Sender struct {
	// Deliver makes one call to the third party.
	Deliver func(ctx context.Context, reminder Reminder) error
}

// Send is the activity that emits.
func (sender *Sender) Send(ctx context.Context, reminder Reminder) error {
	return sender.Deliver(ctx, reminder)
}
