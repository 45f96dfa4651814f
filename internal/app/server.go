package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/telemetry"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// Server shows the platform's health and figures over HTTP.
type Server struct {
	parts   *parts
	address string
}

// serverPoolSize is enough for the scrapes and probes that may run at once.
const serverPoolSize = 4

// NewServer opens what a server needs and begins to listen; [Server.Run] closes
// it. It starts although database or Temporal do not answer: /readyz says so.
func NewServer(ctx context.Context, cfg config.Config, dependencies Dependencies) (*Server, error) {
	parts := newParts(cfg, dependencies)
	server := &Server{parts: parts}
	if err := server.open(ctx, dependencies); err != nil {
		return nil, errors.Join(err, parts.cleanups.close(ctx))
	}
	return server, nil
}

func (server *Server) open(ctx context.Context, dependencies Dependencies) error {
	parts := server.parts
	db, err := parts.openPool(ctx, "server", serverPoolSize, nil)
	if err != nil {
		return err
	}
	temporal, err := parts.dialTemporal(dependencies.Temporal, lazyTemporal)
	if err != nil {
		return err
	}
	policy := Policy(parts.config)
	parts.registry.MustRegister(telemetry.NewRegisterCollector(
		figures{db: db, quota: quotapostgres.NewRegister(QuotaOptions(parts.config))},
		func() int32 { return policy.Ceiling }, knownFlows(policy), parts.logger))
	listening, err := parts.listen(ctx, parts.config.Server.Address, parts.checks(db, temporal))
	if err != nil {
		return fmt.Errorf("ADJOURN_SERVER_ADDR: %w", err)
	}
	server.address = listening.Addr()
	return nil
}

// Addr is where the server listens, "host:port".
func (server *Server) Addr() string { return server.address }

// Run serves until ctx ends, then closes everything. Call it once.
func (server *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	server.parts.logger.Info("server stopping")
	return server.parts.cleanups.close(ctx)
}

// figures answers scrapes from the database.
type figures struct {
	db    *pgxpool.Pool
	quota quotapostgres.Register
}

func (figures figures) Usage(ctx context.Context) (quota.Usage, error) {
	return figures.quota.Usage(ctx, figures.db)
}

func (figures figures) Waiting(ctx context.Context) ([]telemetry.Waiting, error) {
	counts, err := workpostgres.New(figures.db).Waiting(ctx)
	if err != nil {
		return nil, err
	}
	now, err := DatabaseNow(ctx, figures.db)
	if err != nil {
		return nil, err
	}
	waiting := make([]telemetry.Waiting, len(counts))
	for i, count := range counts {
		waiting[i] = telemetry.Waiting{Flow: count.Flow, Works: count.Works, Oldest: now.Sub(count.Oldest)}
	}
	return waiting, nil
}
