package playground

import (
	"context"
	"fmt"
	"sync"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
)

// Running is a worker or a server under way. Its methods are safe for concurrent
// use.
type Running struct {
	// Addr is where a server listens; empty for a worker.
	Addr string

	cancel context.CancelFunc
	done   chan struct{}
	err    error
	stop   sync.Once
}

// StartWorker starts a worker under cfg, which the playground's own addresses
// complete. It ends with ctx or with Stop.
func (playground *Playground) StartWorker(ctx context.Context, cfg config.Config) (*Running, error) {
	worker, err := app.NewWorker(ctx, playground.complete(cfg), playground.Dependencies())
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return run(ctx, worker.Run), nil
}

// StartServer starts the server under cfg, like StartWorker.
func (playground *Playground) StartServer(ctx context.Context, cfg config.Config) (*Running, error) {
	server, err := app.NewServer(ctx, playground.complete(cfg), playground.Dependencies())
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	running := run(ctx, server.Run)
	running.Addr = server.Addr()
	return running, nil
}

func (playground *Playground) complete(cfg config.Config) config.Config {
	cfg.Database.URL = playground.Config.Database.URL
	cfg.Emitter.URL = playground.Config.Emitter.URL
	return cfg
}

func run(ctx context.Context, serve func(context.Context) error) *Running {
	ctx, cancel := context.WithCancel(ctx)
	running := &Running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(running.done)
		running.err = serve(ctx)
	}()
	return running
}

// Done closes when it has ended, for whatever reason.
func (running *Running) Done() <-chan struct{} { return running.done }

// Stop ends it gracefully, within its own bounds, and returns how that went. It
// may be called again.
func (running *Running) Stop() error {
	running.stop.Do(running.cancel)
	<-running.done
	return running.err
}
