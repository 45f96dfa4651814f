package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/migrations"
)

func TestMigrate_StatusUpAgain(t *testing.T) {
	environment(t, "DATABASE_URL="+dbtest.EmptyURL(t))
	all, err := migrations.All()
	require.NoError(t, err)

	before := decode[schemaView](t, adjourn(t, "migrate", "status", "--output", "json"))
	require.Equal(t, len(all), before.Pending)
	require.Contains(t, adjourn(t, "migrate", "status").stdout, `run "adjourn migrate up"`)

	up := decode[schemaView](t, adjourn(t, "migrate", "up", "--output", "json"))
	require.Len(t, up.Applied, len(all))
	require.Zero(t, up.Pending)
	require.Contains(t, adjourn(t, "migrate", "up").stdout, "nothing to do")

	after := decode[schemaView](t, adjourn(t, "migrate", "status", "--output", "json"))
	require.Zero(t, after.Pending)
	require.False(t, after.Migrations[0].AppliedAt.IsZero())
}

func TestMigrate_SaysWhichSettingToLookAt(t *testing.T) {
	environment(t)
	got := adjourn(t, "migrate", "up")
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.stderr, "DATABASE_URL is not set")

	environment(t, "DATABASE_URL=postgres://me:hunter2@127.0.0.1:1/app")
	got = adjourn(t, "migrate", "up")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "the database does not answer (DATABASE_URL)")
	require.NotContains(t, got.stderr, "hunter2")
}
