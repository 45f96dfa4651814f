package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// cleanups undoes what starting a process did, last first, each step by its
// name and within its own bound.
type cleanups struct {
	logger *zap.Logger
	steps  []cleanup
}

type cleanup struct {
	name    string
	timeout time.Duration
	run     func(context.Context) error
}

// add takes note of a step. A step that ignores the end of its context is left
// behind after its timeout: a process that stops must not hang.
func (cleanups *cleanups) add(name string, timeout time.Duration, run func(context.Context) error) {
	cleanups.steps = append(cleanups.steps, cleanup{name: name, timeout: timeout, run: run})
}

// close runs every step, whatever the others came to, and forgets them. It goes
// on although ctx has ended: that is when it is needed.
func (cleanups *cleanups) close(ctx context.Context) error {
	var faults []error
	for i := len(cleanups.steps) - 1; i >= 0; i-- {
		step := cleanups.steps[i]
		cleanups.logger.Debug("stopping", zap.String("part", step.name))
		if err := step.within(context.WithoutCancel(ctx)); err != nil {
			faults = append(faults, fmt.Errorf("stop %s: %w", step.name, err))
		}
	}
	cleanups.steps = nil
	return errors.Join(faults...)
}

func (step cleanup) within(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, step.timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- step.run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// Those that honour their context need a moment to come back.
	select {
	case err := <-done:
		return err
	case <-time.After(stragglerGrace):
		return fmt.Errorf("not done after %s", step.timeout)
	}
}

// stragglerGrace is what a step gets to notice the end of its context.
const stragglerGrace = time.Second
