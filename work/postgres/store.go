package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// Store is the works' register on one pool. Each lane has a store of its own, so
// that a lane that is stuck takes no connection from another. Safe for concurrent
// use.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a store on pool, which the caller closes after the store's last
// use.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }
