// Package lanetest gives the tests of activities works on a real register: a
// database of their own, works in the state a lane finds them in, and a look at
// what became of them.
package lanetest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
)

// Window of the tests: the longest there is, so that hardly any test meets its
// end.
const Window = quota.Day

// Platform is a register with an arbiter, for one test.
type Platform struct {
	Pool     *pgxpool.Pool
	Store    *workpostgres.Store
	Arbiter  *quotapostgres.Arbiter
	Admitter *workpostgres.Admitter
	// Policy in force; a test may change it between steps.
	Policy quota.Policy
	t      testing.TB
}

// New platform under a policy that enforces flow invoice with room for a hundred.
func New(t testing.TB) *Platform {
	t.Helper()
	platform := &Platform{
		t: t, Pool: dbtest.New(t),
		Policy: quota.Policy{Ceiling: 100, Flows: map[string]bool{"invoice": true, "observed": false}},
	}
	options := quotapostgres.Options{Window: Window}
	platform.Store = workpostgres.New(platform.Pool)
	platform.Arbiter = quotapostgres.NewArbiter(platform.Pool, options)
	t.Cleanup(platform.Arbiter.Close)
	platform.Admitter = &workpostgres.Admitter{
		Store: platform.Store, Arbiter: platform.Store, Register: quotapostgres.NewRegister(options),
		Policy: platform.ReadPolicy, Margin: time.Minute,
	}
	return platform
}

// ReadPolicy answers the policy in force.
func (platform *Platform) ReadPolicy(context.Context) (quota.Policy, error) {
	return platform.Policy, nil
}

// Submit hands in works of a flow, one for each deadline.
func (platform *Platform) Submit(flow string, deadlines ...time.Time) []work.Ref {
	platform.t.Helper()
	var refs []work.Ref
	for i, deadline := range deadlines {
		submitted, err := workpostgres.Submit(platform.t.Context(), platform.Pool, work.Submission{
			Flow: flow, Deadline: deadline, Payload: fmt.Appendf(nil, "payload-%s-%d", flow, i),
		})
		require.NoError(platform.t, err)
		refs = append(refs, work.Ref{ID: submitted.ID, Flow: flow, Deadline: deadline})
	}
	return refs
}

// Undated returns count zero deadlines, for Submit.
func Undated(count int) []time.Time { return make([]time.Time, count) }

// Governed hands in undated works of flow invoice and admits them.
func (platform *Platform) Governed(count int) work.Carriage {
	platform.t.Helper()
	platform.Submit("invoice", Undated(count)...)
	batch, err := platform.Admitter.Admit(platform.t.Context(), work.AdmitOptions{Limit: count, Chunk: count})
	require.NoError(platform.t, err)
	require.Len(platform.t, batch.Carriages, 1)
	return batch.Carriages[0]
}

// Exempt hands in undated works of an exempt flow and chooses them.
func (platform *Platform) Exempt(flow string, count int) work.Carriage {
	platform.t.Helper()
	platform.Submit(flow, Undated(count)...)
	carriages, err := platform.Store.ChooseExempt(platform.t.Context(), work.ExemptOptions{
		Governed: platform.Policy.Governed(), Limit: count, Chunk: count,
	})
	require.NoError(platform.t, err)
	require.Len(platform.t, carriages, 1)
	return carriages[0]
}

// Override hands in one work that is overdue and chooses it.
func (platform *Platform) Override() work.Carriage {
	platform.t.Helper()
	platform.Submit("invoice", time.Now().Add(-time.Minute).Truncate(time.Microsecond))
	carriages, err := platform.Store.ChooseOverrides(platform.t.Context(), work.OverrideOptions{
		Flows: platform.Policy.Governed(), Limit: 1,
	})
	require.NoError(platform.t, err)
	require.Len(platform.t, carriages, 1)
	return carriages[0]
}

// Row is what the register says of a work.
type Row struct {
	State    work.State
	Outcome  string
	Reason   string
	Attempts int
	Number   int64
}

// Row of the work.
func (platform *Platform) Row(id work.ID) Row {
	platform.t.Helper()
	var row Row
	err := platform.Pool.QueryRow(platform.t.Context(),
		`SELECT state, coalesce(outcome, ''), coalesce(reason, ''), attempts, coalesce(number, 0)
		   FROM adjourn.work_all WHERE id = $1`, id).
		Scan(&row.State, &row.Outcome, &row.Reason, &row.Attempts, &row.Number)
	require.NoError(platform.t, err)
	return row
}

// States of the works, in the order given.
func (platform *Platform) States(works []work.Ref) []work.State {
	platform.t.Helper()
	var states []work.State
	for _, ref := range works {
		states = append(states, platform.Row(ref.ID).State)
	}
	return states
}

// Exec changes the database behind the register's back.
func (platform *Platform) Exec(sql string, arguments ...any) {
	platform.t.Helper()
	_, err := platform.Pool.Exec(platform.t.Context(), sql, arguments...)
	require.NoError(platform.t, err)
}

// Await fails the test when the condition does not come true.
func Await(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
}

// Environment runs activities as a worker would.
func Environment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Logger())
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	return environment
}

// Logger that writes nothing.
func Logger() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// IDs of the works.
func IDs(works []work.Ref) []work.ID {
	ids := make([]work.ID, len(works))
	for i, ref := range works {
		ids[i] = ref.ID
	}
	return ids
}
