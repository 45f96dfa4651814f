package devstack

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
)

// ErrStopped is the cause of a stack's context that ended with Stop.
var ErrStopped = errors.New("the stack was stopped")

// PartError tells which part of a stack failed.
type PartError struct {
	// Part is "postgres", "temporal" or "third party".
	Part string
	// Err is what happened to it.
	Err error
}

// Error names the part.
func (err *PartError) Error() string { return fmt.Sprintf("%s: %v", err.Part, err.Err) }

// Unwrap gives what happened.
func (err *PartError) Unwrap() error { return err.Err }

// Options are the choices of [Start]. The zero value starts every part with its
// own defaults.
type Options struct {
	// DatabaseURL names a Postgres to use instead of starting one.
	DatabaseURL string
	// Postgres is how to start one.
	Postgres PostgresOptions
	// TemporalAddress names a frontend to use instead of starting one.
	TemporalAddress string
	// Temporal is how to start one.
	Temporal TemporalOptions
	// ThirdParty is how to start the simulated third party.
	ThirdParty thirdparty.Options
}

// Stack is every part, running. Its methods are safe for concurrent use.
type Stack struct {
	// DatabaseURL of the Postgres, with its password.
	DatabaseURL string
	// TemporalAddress is the frontend's host and port.
	TemporalAddress string
	// TemporalUIURL opens Temporal's web interface; empty when the frontend was
	// named in the options.
	TemporalUIURL string
	// ThirdParty is the witness.
	ThirdParty *thirdparty.ThirdParty

	ctx    context.Context
	cancel context.CancelCauseFunc
	// parts in the order they are stopped in reverse.
	parts    []part
	watchers sync.WaitGroup
	stopOnce sync.Once
	stopErr  error
}

// part is one running server.
type part struct {
	name   string
	server interface {
		Exited() <-chan error
		Stop(ctx context.Context) error
	}
}

// Start starts the parts at the same time and returns when all of them are
// ready; if one fails, the others are stopped again and the error is a
// [*PartError]. The caller must call Stop.
func Start(ctx context.Context, options Options) (*Stack, error) {
	stack := &Stack{DatabaseURL: options.DatabaseURL, TemporalAddress: options.TemporalAddress}
	stack.ctx, stack.cancel = context.WithCancelCause(ctx)
	var postgres *Postgres
	var temporal *Temporal
	starting, startCtx := errgroup.WithContext(ctx)
	if options.DatabaseURL == "" {
		starting.Go(func() (err error) {
			postgres, err = StartPostgres(startCtx, options.Postgres)
			return partError("postgres", err)
		})
	}
	if options.TemporalAddress == "" {
		starting.Go(func() (err error) {
			temporal, err = StartTemporal(startCtx, options.Temporal)
			return partError("temporal", err)
		})
	}
	starting.Go(func() (err error) {
		stack.ThirdParty, err = thirdparty.Start(options.ThirdParty)
		return partError("third party", err)
	})
	err := starting.Wait()
	if postgres != nil {
		stack.DatabaseURL = postgres.URL
		stack.watch(part{"postgres", postgres})
	}
	if temporal != nil {
		stack.TemporalAddress, stack.TemporalUIURL = temporal.HostPort, temporal.UIURL
		stack.watch(part{"temporal", temporal})
	}
	if stack.ThirdParty != nil {
		stack.watch(part{"third party", stack.ThirdParty})
	}
	if err != nil {
		return nil, errors.Join(err, stack.Stop(context.WithoutCancel(ctx)))
	}
	return stack, nil
}

func partError(name string, err error) error {
	if err == nil {
		return nil
	}
	return &PartError{Part: name, Err: err}
}

// watch ends the stack's context when the part ends by itself.
func (stack *Stack) watch(running part) {
	stack.parts = append(stack.parts, running)
	stack.watchers.Go(func() {
		for err := range running.server.Exited() {
			stack.cancel(partError(running.name, err))
		}
	})
}

// Context ends with the one given to [Start], with Stop ([ErrStopped]), or when
// a part ends by itself: its cause is then a [*PartError]. The other parts go on
// until Stop.
func (stack *Stack) Context() context.Context { return stack.ctx }

// Stop stops the third party, Temporal and Postgres in this order, whatever
// becomes of each; an ended ctx hurries them. It may be called again.
func (stack *Stack) Stop(ctx context.Context) error {
	stack.stopOnce.Do(func() {
		stack.cancel(ErrStopped)
		var errs []error
		for i := len(stack.parts) - 1; i >= 0; i-- {
			running := stack.parts[i]
			errs = append(errs, partError(running.name, running.server.Stop(ctx)))
		}
		stack.watchers.Wait()
		stack.stopErr = errors.Join(errs...)
	})
	return stack.stopErr
}
