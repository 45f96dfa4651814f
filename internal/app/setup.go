package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	workpostgres "github.com/adjourn/adjourn/work/postgres"
	"github.com/adjourn/adjourn/workflows"
)

// SetupOptions says what the platform needs beside its schema.
type SetupOptions struct {
	// PayloadBytesMax is what submit_work accepts at most.
	PayloadBytesMax int64
	// Window is the length of the quota's windows, which all processes share.
	Window time.Duration
	// Namespace of the Temporal client.
	Namespace string
	// Schedule of the passes.
	Schedule workflows.ScheduleOptions
}

// settingPayloadBytesMax names the setting that submit_work reads.
const settingPayloadBytesMax = "payload_bytes_max"

// setupStepTimeout bounds each step.
const setupStepTimeout = 15 * time.Second

// Setup prepares the database and Temporal and tells what it did, step by step.
// It may be repeated, and by several processes at once. A step that is not
// allowed or fails stops no other.
func Setup(ctx context.Context, db *pgxpool.Pool, temporal client.Client, options SetupOptions) []Step {
	within := func(step func(context.Context) Step) Step {
		ctx, cancel := context.WithTimeout(ctx, setupStepTimeout)
		defer cancel()
		return step(ctx)
	}
	steps := []Step{
		within(func(ctx context.Context) Step { return setUpPayloadBound(ctx, db, options.PayloadBytesMax) }),
		within(func(ctx context.Context) Step { return setUpWindow(ctx, db, options.Window) }),
		within(func(ctx context.Context) Step { return setUpNamespace(ctx, temporal, options.Namespace) }),
	}
	created := steps[2].Result == Created
	for _, step := range []func(context.Context) Step{
		func(ctx context.Context) Step {
			return setUpSearchAttributes(ctx, temporal, options.Namespace, workflows.SearchAttributes())
		},
		func(ctx context.Context) Step { return setUpSchedule(ctx, temporal, options.Schedule) },
	} {
		steps = append(steps, whileNamespaceIsNew(ctx, created, func() Step { return within(step) }))
	}
	return steps
}

func setUpPayloadBound(ctx context.Context, db *pgxpool.Pool, bytesMax int64) Step {
	step := Step{Name: "database setting " + settingPayloadBytesMax}
	changed, err := workpostgres.New(db).WriteSetting(ctx, settingPayloadBytesMax, strconv.FormatInt(bytesMax, 10))
	switch {
	case err != nil:
		return step.ended(Failed, ExplainDatabase(err))
	case changed:
		return step.ended(Updated, nil)
	}
	return step.ended(AlreadyThere, nil)
}

func setUpSchedule(ctx context.Context, temporal client.Client, options workflows.ScheduleOptions) Step {
	step := Step{Name: "Temporal schedule " + options.Queues.ScheduleID()}
	change, err := workflows.EnsureSchedule(ctx, temporal, options)
	switch {
	case denied(err):
		return step.ended(NotAllowed, err)
	case err != nil:
		return step.ended(Failed, err)
	}
	return step.ended(map[workflows.ScheduleChange]Result{
		workflows.ScheduleCreated:   Created,
		workflows.ScheduleUpdated:   Updated,
		workflows.ScheduleUnchanged: AlreadyThere,
	}[change], nil)
}

// whileNamespaceIsNew repeats a step that does not see the namespace yet which
// this setup has just created: a cluster's parts learn of it one by one.
func whileNamespaceIsNew(ctx context.Context, created bool, step func() Step) Step {
	begun := time.Now()
	for {
		done := step()
		var missing *serviceerror.NamespaceNotFound
		if !created || !errors.As(done.Err, &missing) || time.Since(begun) > namespaceVisibleTimeout {
			return done
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return done.ended(Failed, fmt.Errorf("wait for the new namespace: %w", ctx.Err()))
		}
	}
}

// Result of one step of the setup.
type Result string

// The results.
const (
	// Created: it was missing.
	Created Result = "created"
	// Updated: it was there and said something else.
	Updated Result = "updated"
	// AlreadyThere: nothing was to be done.
	AlreadyThere Result = "already there"
	// NotAllowed: Temporal does not let these credentials do it; someone else
	// has to, and the platform works meanwhile.
	NotAllowed Result = "not allowed"
	// Failed: see the step's error.
	Failed Result = "failed"
)

// Step is one thing the setup saw to.
type Step struct {
	Name   string
	Result Result
	// Err says why, where the result is [NotAllowed] or [Failed].
	Err error
}

func (step Step) ended(result Result, err error) Step {
	step.Result, step.Err = result, err
	return step
}
