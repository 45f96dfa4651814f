package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/internal/app"
)

// loadConfig reads the environment; what is wrong with it is wrong usage.
func loadConfig() (config.Config, error) {
	cfg, err := config.Load()
	if err != nil {
		return config.Config{}, &usageError{err: err}
	}
	return cfg, nil
}

// loadDatabaseConfig is loadConfig for commands that need the database.
func loadDatabaseConfig() (config.Config, error) {
	cfg, err := loadConfig()
	if err != nil {
		return config.Config{}, err
	}
	if err := cfg.RequireDatabase(); err != nil {
		return config.Config{}, &usageError{err: err}
	}
	return cfg, nil
}

// openDatabase reads the environment and opens the database it names, with this
// program's schema in it. The caller closes the pool.
func openDatabase(ctx context.Context) (config.Config, *pgxpool.Pool, error) {
	cfg, err := loadDatabaseConfig()
	if err != nil {
		return config.Config{}, nil, err
	}
	db, err := app.OpenDatabase(ctx, cfg.Database.URL.Reveal())
	if err != nil {
		return config.Config{}, nil, err
	}
	return cfg, db, nil
}
