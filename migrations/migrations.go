// Package migrations holds Adjourn's schema as numbered SQL files and brings a
// database up to it: forward only, each file once, in its own transaction, under
// an advisory lock so that any number of processes may start at once.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed *.sql
var files embed.FS

// lockKey is the advisory lock that one migrating process holds; the number is
// arbitrary and must never change.
const lockKey = 0x61646a6f75726e

// lockTimeout bounds the wait for another process's migration.
const lockTimeout = 2 * time.Minute

// Migration is one numbered step of the schema.
type Migration struct {
	// Version from 1, without gaps.
	Version int
	// Name of the step, the file's name without number and ending.
	Name string
	// AppliedAt is zero while the step is pending.
	AppliedAt time.Time

	sql string
}

// All lists the migrations this program knows, in order.
func All() ([]Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	migrations := make([]Migration, 0, len(names))
	for i, name := range names {
		number, rest, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration file %s: expected number %04d", name, i+1)
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		migrations = append(migrations, Migration{Version: version, Name: rest, sql: string(text)})
	}
	return migrations, nil
}

// Up applies every pending migration and returns those it applied. It refuses a
// database whose schema is newer than this program.
func Up(ctx context.Context, conn *pgx.Conn) (applied []Migration, err error) {
	lockCtx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if _, err := conn.Exec(lockCtx, "SELECT pg_advisory_lock($1)", int64(lockKey)); err != nil {
		return nil, fmt.Errorf("wait for another migration to end: %w", err)
	}
	defer func() {
		_, unlockErr := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(lockKey))
		err = errors.Join(err, unlockErr)
	}()
	if _, err := conn.Exec(ctx, createRegister); err != nil {
		return nil, fmt.Errorf("create the register of migrations: %w", err)
	}
	steps, err := Status(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if !step.AppliedAt.IsZero() {
			continue
		}
		if err := apply(ctx, conn, &step); err != nil {
			return applied, fmt.Errorf("apply migration %04d_%s: %w", step.Version, step.Name, err)
		}
		applied = append(applied, step)
	}
	return applied, nil
}

const createRegister = `
CREATE SCHEMA IF NOT EXISTS adjourn;
CREATE TABLE IF NOT EXISTS adjourn.migration (
    version    INTEGER     NOT NULL PRIMARY KEY,
    name       TEXT        NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
)`

func apply(ctx context.Context, conn *pgx.Conn, step *Migration) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The simple protocol runs a whole file of statements as one text.
		if _, err := tx.Conn().PgConn().Exec(ctx, step.sql).ReadAll(); err != nil {
			return err
		}
		return tx.QueryRow(ctx,
			"INSERT INTO adjourn.migration (version, name) VALUES ($1, $2) RETURNING applied_at",
			step.Version, step.Name).Scan(&step.AppliedAt)
	})
}

// SchemaError tells that the database's schema is not the one this program
// needs.
type SchemaError struct {
	// Have is the database's version, zero when nothing is installed; Want is
	// this program's.
	Have, Want int
}

// Error names both versions and what to do.
func (err *SchemaError) Error() string {
	if err.Have > err.Want {
		return fmt.Sprintf("the database's schema is at version %d, newer than this program's %d: "+
			"run a newer adjourn", err.Have, err.Want)
	}
	return fmt.Sprintf("the database's schema is at version %d, this program needs %d: "+
		"run `adjourn migrate up`", err.Have, err.Want)
}

// Querier is what reading the register needs; a pool, a connection and a
// transaction each fit.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Check returns a [*SchemaError] unless the schema is exactly this program's.
func Check(ctx context.Context, db Querier) error {
	steps, err := Status(ctx, db)
	if err != nil {
		return err
	}
	have := 0
	for _, step := range steps {
		if !step.AppliedAt.IsZero() {
			have = step.Version
		}
	}
	if have != len(steps) {
		return &SchemaError{Have: have, Want: len(steps)}
	}
	return nil
}

// Status lists the known migrations with when each was applied. A database
// newer than this program is a [*SchemaError]; one without any schema has every
// step pending.
func Status(ctx context.Context, db Querier) ([]Migration, error) {
	steps, err := All()
	if err != nil {
		return nil, err
	}
	// An error of the query is found again in its rows.
	rows, _ := db.Query(ctx, "SELECT version, applied_at FROM adjourn.migration ORDER BY version")
	var version int
	var appliedAt time.Time
	_, err = pgx.ForEachRow(rows, []any{&version, &appliedAt}, func() error {
		if version > len(steps) {
			return &SchemaError{Have: version, Want: len(steps)}
		}
		steps[version-1].AppliedAt = appliedAt
		return nil
	})
	if missing := new(pgconn.PgError); errors.As(err, &missing) && missing.Code == "42P01" {
		return steps, nil // undefined_table: nothing is installed yet
	}
	if err != nil {
		return nil, fmt.Errorf("read the register of migrations: %w", err)
	}
	return steps, nil
}
