package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// starter remembers what it was asked to start, as Temporal would.
type starter struct {
	mu      sync.Mutex
	started []work.Carriage
	err     error
	hold    chan struct{} // when set, starts wait for it
	most    int           // starts under way at once
	now     int
}

func (starter *starter) Start(ctx context.Context, carriage work.Carriage) (bool, error) {
	starter.mu.Lock()
	starter.now++
	starter.most = max(starter.most, starter.now)
	hold := starter.hold
	starter.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	starter.mu.Lock()
	defer starter.mu.Unlock()
	starter.now--
	if starter.err != nil {
		return false, starter.err
	}
	already := slices.ContainsFunc(starter.started, func(other work.Carriage) bool {
		return other.WorkflowID == carriage.WorkflowID
	})
	starter.started = append(starter.started, carriage)
	return already, nil
}

type bench struct {
	*lanetest.Platform
	starter     *starter
	meter       *lanetest.Meter
	activities  *dispatch.Activities
	environment *testsuite.TestActivityEnvironment
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{
		Platform: lanetest.New(t), starter: &starter{}, meter: &lanetest.Meter{},
		environment: lanetest.Environment(),
	}
	bench.activities = &dispatch.Activities{
		Register: bench.Store, Overrides: bench.Store, Admitter: bench.Admitter,
		Starter: bench.starter, Slots: bench.Arbiter, Policy: bench.ReadPolicy, Meter: bench.meter,
		Options: dispatch.Options{Window: lanetest.Window, Margin: time.Minute, Batch: 10, Chunk: 4},
	}
	bench.environment.RegisterActivity(bench.activities)
	return bench
}

func run[Output any](t *testing.T, bench *bench, step any) Output {
	t.Helper()
	encoded, err := bench.environment.ExecuteActivity(step)
	require.NoError(t, err)
	var output Output
	require.NoError(t, encoded.Get(&output))
	return output
}

// TestUrgentWorksAreStartedAlone: one workflow per work, in deadline order,
// whatever the quota says, even with its tables gone (G2, A42, A45).
func TestUrgentWorksAreStartedAlone(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 0
	now := time.Now()
	works := bench.Submit("invoice", now.Add(30*time.Second), now.Add(-time.Hour), now.Add(time.Hour))
	bench.Submit("ack", now.Add(-time.Hour)) // exempt flows have nothing to override
	bench.Exec(`DROP TABLE adjourn.quota_window, adjourn.quota_hold, adjourn.quota_figure`)
	chosen := run[dispatch.Chosen](t, bench, bench.activities.StartOverrides)
	require.Equal(t, dispatch.Chosen{Works: 2, Starts: dispatch.Starts{Started: 2}}, chosen)
	var ids []string
	for _, carriage := range bench.starter.started {
		require.Len(t, carriage.Works, 1)
		require.Equal(t, work.Override, carriage.Lane)
		ids = append(ids, carriage.WorkflowID)
	}
	require.ElementsMatch(t, []string{
		work.OverrideWorkflowID(works[0].ID), work.OverrideWorkflowID(works[1].ID),
	}, ids)
	require.Equal(t, 2, bench.meter.Counts()["overridden invoice"])
	require.Equal(t, work.Pending, bench.Row(works[2].ID).State)

	require.Equal(t, dispatch.Chosen{}, run[dispatch.Chosen](t, bench, bench.activities.StartOverrides))
}

// TestExemptWorksAreStartedInChunks, unknown flows too (G6).
func TestExemptWorksAreStartedInChunks(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Submit("ack", lanetest.Undated(6)...)
	bench.Submit("zzz", lanetest.Undated(1)...)
	bench.Submit("invoice", lanetest.Undated(2)...)
	chosen := run[dispatch.Chosen](t, bench, bench.activities.StartExempt)
	require.Equal(t, dispatch.Chosen{Works: 7, Starts: dispatch.Starts{Started: 3}}, chosen)
	require.Equal(t, 6, bench.meter.Counts()["exempted ack"])
	require.Equal(t, 1, bench.meter.Counts()["exempted zzz"])
}

// TestGovernedWorksGetSlots: in chunks that carry their window, the refused ones
// counted once.
func TestGovernedWorksGetSlots(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 6
	bench.Submit("invoice", lanetest.Undated(9)...)
	admission := run[dispatch.Admission](t, bench, bench.activities.StartGoverned)
	require.Equal(t, dispatch.Admission{
		Chosen: 9, Granted: 6, Deferred: map[string]int{string(quota.ReasonQuotaFull): 3},
		Starts: dispatch.Starts{Started: 2},
	}, admission)
	for _, carriage := range bench.starter.started {
		require.Equal(t, work.Governed, carriage.Lane)
		require.False(t, carriage.SlotStart.IsZero())
	}
	again := run[dispatch.Admission](t, bench, bench.activities.StartGoverned)
	require.Equal(t, 0, again.Granted)
	require.Empty(t, again.Deferred, "a work refused again in the same window is not counted again")
	require.Equal(t, 3, bench.meter.Counts()["refused invoice quota_full"])
	require.Equal(t, 2, bench.meter.Counts()["reservations"])
}

// TestRoundsGoOnWhileBatchesAreFull, and end at the bound.
func TestRoundsGoOnWhileBatchesAreFull(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 1000
	bench.Submit("invoice", lanetest.Undated(25)...)
	bench.Submit("ack", lanetest.Undated(120)...)
	require.Equal(t, 25, run[dispatch.Admission](t, bench, bench.activities.StartGoverned).Granted)
	require.Equal(t, 3, bench.meter.Counts()["reservations"])
	require.Equal(t, 100, run[dispatch.Chosen](t, bench, bench.activities.StartExempt).Works, "ten rounds of ten")
}

// TestAFullWindowCostsOneRound however long the backlog.
func TestAFullWindowCostsOneRound(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 0
	bench.Submit("invoice", lanetest.Undated(30)...)
	admission := run[dispatch.Admission](t, bench, bench.activities.StartGoverned)
	require.Equal(t, 10, admission.Chosen)
	require.Equal(t, 1, bench.meter.Counts()["reservations"])
	require.Empty(t, bench.starter.started)
}

// TestAnArbiterInErrorIsAskedOnceInAPass: observed works go, however many wait, but
// each asking may wait for its time-out, and the next urgent works with it (G2).
func TestAnArbiterInErrorIsAskedOnceInAPass(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Flows = map[string]bool{"invoice": false}
	bench.Submit("invoice", lanetest.Undated(30)...)
	bench.Exec("DROP TABLE adjourn.quota_window")
	admission := run[dispatch.Admission](t, bench, bench.activities.StartGoverned)
	require.Equal(t, 10, admission.WouldDefer, "one batch")
	require.Equal(t, 1, bench.meter.Counts()["reservations"])
}

// TestStartsAreBounded: several at once, never more than the limit.
func TestStartsAreBounded(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.activities.Options.StartLimit = 3
	bench.starter.hold = make(chan struct{})
	bench.Submit("invoice", slices.Repeat([]time.Time{time.Now().Add(-time.Hour)}, 9)...)
	done := make(chan dispatch.Chosen)
	go func() { done <- run[dispatch.Chosen](t, bench, bench.activities.StartOverrides) }()
	lanetest.Await(t, func() bool {
		bench.starter.mu.Lock()
		defer bench.starter.mu.Unlock()
		return bench.starter.now == 3
	}, "three starts at once")
	close(bench.starter.hold)
	require.Equal(t, 9, (<-done).Starts.Started)
	require.Equal(t, 3, bench.starter.most)
}

// TestARegisterThatIsDownIsAnError that the pass notes; the policy's too.
func TestARegisterThatIsDownIsAnError(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Exec(`ALTER TABLE adjourn.work RENAME TO elsewhere`)
	bench.activities.Options.Retention = time.Hour
	bench.Exec(`ALTER TABLE adjourn.work_archive RENAME TO elsewhere_too`)
	for _, step := range []any{
		bench.activities.Recover, bench.activities.StartOverrides, bench.activities.StartExempt,
		bench.activities.StartGoverned, bench.activities.Prune,
	} {
		_, err := bench.environment.ExecuteActivity(step)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.Equal(t, "register_unavailable", application.Type())
	}
	bench.activities.Policy = func(context.Context) (quota.Policy, error) { return quota.Policy{}, errors.New("down") }
	for _, step := range []any{bench.activities.StartOverrides, bench.activities.StartExempt} {
		_, err := bench.environment.ExecuteActivity(step)
		require.Error(t, err)
	}
}

// TestAnErrorAfterSomethingWasStartedIsNoted beside what was done.
func TestAnErrorAfterSomethingWasStartedIsNoted(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Submit("ack", lanetest.Undated(15)...)
	bench.activities.Register = &failingSecond{Register: bench.Store}
	chosen := run[dispatch.Chosen](t, bench, bench.activities.StartExempt)
	require.Equal(t, 10, chosen.Works)
	require.Equal(t, 3, chosen.Starts.Started)
	require.Equal(t, "down", chosen.Problem)
}

// failingSecond is a real register that is down from the second round on.
type failingSecond struct {
	dispatch.Register
	rounds int
}

func (register *failingSecond) ChooseExempt(ctx context.Context, options work.ExemptOptions) ([]work.Carriage, error) {
	if register.rounds++; register.rounds > 1 {
		return nil, errors.New("down")
	}
	return register.Register.ChooseExempt(ctx, options)
}

// TestPruneKeepsToTheRetention; none keeps everything.
func TestPruneKeepsToTheRetention(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Exempt("ack", 12)
	begun, err := bench.Store.Begin(t.Context(), work.BeginOptions{
		Lane: work.Exempt, WorkflowID: carriage.WorkflowID, IDs: lanetest.IDs(carriage.Works), Timeout: time.Minute,
	})
	require.NoError(t, err)
	var endings []work.Ending
	for _, attempt := range begun.Attempts {
		endings = append(endings, work.Ending{ID: attempt.Work.ID, Sequence: attempt.Sequence, Outcome: work.OutcomeEmitted})
	}
	_, err = bench.Store.Record(t.Context(), work.Exempt, endings)
	require.NoError(t, err)
	bench.Exec(`UPDATE adjourn.work_archive SET finished_at = finished_at - INTERVAL '48h' WHERE id <> $1`, carriage.Works[0].ID)
	require.Equal(t, 0, run[int](t, bench, bench.activities.Prune))
	bench.activities.Options.Retention = 24 * time.Hour
	require.Equal(t, 11, run[int](t, bench, bench.activities.Prune))
	require.Equal(t, work.Emitted, bench.Row(carriage.Works[0].ID).State)
}

// TestPruneForgetsReservationsOfWindowsThatAreOver and keeps the present one's.
func TestPruneForgetsReservationsOfWindowsThatAreOver(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	for _, key := range []string{"of a window that is over", "of the present one"} {
		_, err := bench.Arbiter.ReserveOnce(t.Context(), 10, key)
		require.NoError(t, err)
	}
	bench.Exec(`UPDATE adjourn.quota_reservation SET window_start = window_start - INTERVAL '48h' WHERE key LIKE '%over'`)
	require.Equal(t, 0, run[int](t, bench, bench.activities.Prune))
	var keys []string
	require.NoError(t, bench.Pool.QueryRow(t.Context(),
		"SELECT array_agg(key) FROM adjourn.quota_reservation").Scan(&keys))
	require.Equal(t, []string{"of the present one"}, keys)
}
