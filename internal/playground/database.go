package playground

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/internal/app"
)

// databaseTimeout bounds making and dropping a database.
const databaseTimeout = 30 * time.Second

// ownDatabase makes a database beside the one that address names, so that the
// works in there are left alone, and returns its address and what drops it.
func ownDatabase(ctx context.Context, address string) (own string, drop func(context.Context) error, err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", nil, errors.New("DATABASE_URL: accepted is a postgres:// URL")
	}
	name := "adjourn_demo_" + strings.ToLower(rand.Text()[:12])
	identifier := pgx.Identifier{name}.Sanitize()
	if err := execute(ctx, address, "CREATE DATABASE "+identifier); err != nil {
		return "", nil, fmt.Errorf("create a database for the demo: %w", err)
	}
	parsed.Path = "/" + name
	return parsed.String(), func(ctx context.Context) error {
		return execute(ctx, address, "DROP DATABASE "+identifier+" WITH (FORCE)")
	}, nil
}

func execute(ctx context.Context, address, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return app.ExplainDatabase(err)
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}
