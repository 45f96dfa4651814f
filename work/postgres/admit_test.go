package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

// TestAdmitMarksWhatItReserves: granted works carry the slot's window, their
// workflow and how they were admitted; counter and figures agree (A17, A35).
func TestAdmitMarksWhatItReserves(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 3)
	ids := pass.submit("e", time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour)
	batch := pass.admit(pass.options(10, 2))
	usage := pass.usage()
	require.Equal(t, ids[:3], carried(batch.Carriages))
	require.Equal(t, []string{
		work.GovernedWorkflowID(usage.Window.Start, ids[0]),
		work.GovernedWorkflowID(usage.Window.Start, ids[2]),
	}, workflowIDs(batch.Carriages))
	require.Equal(t, 4, batch.Chosen)
	require.Equal(t, work.Tally{"e": 3}, batch.Granted)
	require.Empty(t, batch.WouldDefer)
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": 1}}, batch.Deferred)
	require.Empty(t, batch.Refused, "only works asked for by ID are answered one by one")
	require.Equal(t, 3, usage.Count)
	require.Equal(t, map[string]int64{"e granted": 3, "e deferred quota_full": 1}, pass.figures())
	for _, carriage := range batch.Carriages {
		for _, ref := range carriage.Works {
			require.Equal(t, "admitted governed "+carriage.WorkflowID, pass.state(ref.ID))
		}
	}
	require.Equal(t, 3, pass.count(`SELECT count(*) FROM adjourn.work
		WHERE slot_start = $1 AND admission = 'granted' AND enforced AND number IS NULL
		  AND carried_since >= $1`, usage.Window.Start))
	require.Equal(t, "pending", pass.state(ids[3]))
}

// TestCeilingZeroOrNegativeRefuses every enforced work and takes nothing (A20,
// A58, G7).
func TestCeilingZeroOrNegativeRefuses(t *testing.T) {
	t.Parallel()
	for _, ceiling := range []int32{0, -1} {
		t.Run(fmt.Sprint(ceiling), func(t *testing.T) {
			t.Parallel()
			pass := newPass(t, ceiling)
			pass.submit("e", time.Hour, 2*time.Hour)
			batch := pass.admit(pass.options(10, 1))
			require.Empty(t, batch.Carriages)
			require.Equal(t, map[string]work.Tally{"quota_full": {"e": 2}}, batch.Deferred)
			require.Zero(t, pass.count("SELECT count(*) FROM adjourn.quota_window"))
		})
	}
}

// TestLastSlotGoesToOne: of two admissions that fight for the last slot one gets
// it, a thousand times (G1, A05).
func TestLastSlotGoesToOne(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	pass.exec("INSERT INTO adjourn.flow (name) VALUES ('e')")
	window := pass.usage().Window.Start
	for round := range 1000 {
		pass.exec(`WITH gone AS (DELETE FROM adjourn.work), count AS (
			INSERT INTO adjourn.quota_window (window_start, count) VALUES ($1, 9)
			ON CONFLICT (window_start) DO UPDATE SET count = 9)
			INSERT INTO adjourn.work (flow, stream, idempotency_key)
			VALUES ('e', 'e', gen_random_uuid()::TEXT), ('e', 'e', gen_random_uuid()::TEXT)`, window)
		ids := passRead[work.ID](pass, "SELECT id FROM adjourn.work ORDER BY id")
		var group sync.WaitGroup
		batches, errs := make([]work.AdmissionBatch, 2), make([]error, 2)
		for caller := range 2 {
			options := pass.options(10, 1)
			if round%2 > 0 { // each with a work of its own, so that only the slot is fought for
				options = pass.asking(fmt.Sprint("job-", caller), ids[caller])
			}
			group.Go(func() { batches[caller], errs[caller] = pass.store.Admit(t.Context(), options) })
		}
		group.Wait()
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.Equal(t, 1, batches[0].Granted.Total()+batches[1].Granted.Total(), "round %d", round)
		require.Equal(t, 10, pass.usage().Count, "round %d", round)
		require.Equal(t, 1, pass.count("SELECT count(*) FROM adjourn.work WHERE state = 'admitted'"))
	}
}

// TestObservedGoesBeyondTheCeiling: 25 observed works under a ceiling of 10 all
// go and all count; enforced from then on, nothing is left (A53, design section 3).
func TestObservedGoesBeyondTheCeiling(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	for range 25 {
		pass.submit("o", 0)
	}
	batch := pass.admit(pass.options(100, 100))
	require.Equal(t, work.Tally{"o": 10}, batch.Granted)
	require.Equal(t, work.Tally{"o": 15}, batch.WouldDefer)
	require.Empty(t, batch.Deferred)
	require.Len(t, carried(batch.Carriages), 25)
	require.Equal(t, 25, pass.usage().Count)
	require.Equal(t, map[string]int64{"o granted": 10, "o would_defer": 15}, pass.figures())
	require.Equal(t, 15, pass.count(`SELECT count(*) FROM adjourn.work
		WHERE admission = 'would_defer' AND NOT enforced AND slot_start IS NOT NULL`))

	pass.policy.Flows["o"] = true
	pass.submit("o", 0)
	require.Zero(t, pass.usage().Remaining(10))
	batch = pass.admit(pass.options(100, 100))
	require.Empty(t, batch.Carriages)
	require.Equal(t, map[string]work.Tally{"quota_full": {"o": 1}}, batch.Deferred)
	require.Equal(t, 25, pass.usage().Count)
}

// TestMixedFlowsShareOneOrder: slots go by deadline whatever the flow; beyond them
// observed works go and enforced ones wait.
func TestMixedFlowsShareOneOrder(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 3)
	enforced := pass.submit("e", 2*time.Hour, 4*time.Hour, 6*time.Hour)
	observed := pass.submit("o", time.Hour, 3*time.Hour, 5*time.Hour, 7*time.Hour)
	batch := pass.admit(pass.options(10, 10))
	require.Equal(t, []work.ID{observed[0], enforced[0], observed[1], observed[2], observed[3]}, carried(batch.Carriages))
	require.Equal(t, work.Tally{"e": 1, "o": 2}, batch.Granted)
	require.Equal(t, work.Tally{"o": 2}, batch.WouldDefer)
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": 2}}, batch.Deferred)
	require.Equal(t, 5, pass.usage().Count)
}

// TestHoldBindsObservedWorkToo: while the third party asked to wait nothing
// governed goes, and the answer says until when.
func TestHoldBindsObservedWorkToo(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := append(pass.submit("e", 2*time.Hour), pass.submit("o", time.Hour)...)
	held := pass.usage().Now.Add(time.Hour)
	require.NoError(t, pass.register.Hold(t.Context(), pass.pool, held))
	batch := pass.admit(pass.options(10, 10))
	require.Empty(t, batch.Carriages)
	require.Equal(t, map[string]work.Tally{"third_party_limit": {"e": 1, "o": 1}}, batch.Deferred)
	require.Zero(t, pass.usage().Count)

	batch = pass.admit(pass.asking("job", ids...))
	require.Len(t, batch.Refused, 2)
	for _, refused := range batch.Refused {
		require.Equal(t, "third_party_limit", refused.Reason)
		require.WithinDuration(t, held, refused.RetryAt, time.Millisecond)
	}
}

// TestHoldThatComesMeanwhile: a hold set between the first look and the
// reservation refuses observed works as well, and nothing is written.
func TestHoldThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	pass.submit("o", time.Hour)
	works, err := pass.store.find(t.Context(), pass.options(10, 10))
	require.NoError(t, err)
	require.NoError(t, pass.register.Hold(t.Context(), pass.pool, pass.usage().Now.Add(time.Hour)))
	done, err := pass.store.reserveAndMark(t.Context(), pass.options(10, 10), works.candidates, 1)
	require.NoError(t, err)
	require.Empty(t, done.going)
	require.Len(t, done.refused, 1)
	require.Equal(t, quota.ReasonThirdPartyLimit, done.grant.Reason)
	require.Zero(t, pass.usage().Count)
}

// TestRoomThatAppearsStartsAnew: slots that were not there when the works were
// chosen are given back, because works passed over for them come first.
func TestRoomThatAppearsStartsAnew(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	pass.submit("o", time.Hour, 2*time.Hour)
	works, err := pass.store.find(t.Context(), pass.options(10, 10))
	require.NoError(t, err)
	_, err = pass.store.reserveAndMark(t.Context(), pass.options(10, 10), works.candidates, 1)
	require.ErrorIs(t, err, errRoomAppeared)
	require.Zero(t, pass.usage().Count)
	require.Equal(t, 2, pass.count("SELECT count(*) FROM adjourn.work WHERE state = 'pending'"))
}

// meanwhile runs functions while an admission is under way.
type meanwhile struct {
	recorder
	// beforeUsage runs before the window is looked at, afterChoosing once the works
	// are chosen.
	beforeUsage, afterChoosing func()
}

func (hook *meanwhile) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "quota_window") && !strings.Contains(data.SQL, "INSERT") {
		hook.beforeUsage()
	}
	return ctx
}

func (hook *meanwhile) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if data.SQL == chooseSQL {
		hook.afterChoosing()
	}
}

// TestRoomThatAppearsGoesToWhoComesFirst: with room where there seemed to be none
// the works are chosen anew, a few times at most; the last try takes what it gets.
func TestRoomThatAppearsGoesToWhoComesFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fills, tries int
		first        string
	}{
		"Once": {fills: 1, tries: 2, first: "e"}, "Always": {fills: 100, tries: admitTriesMax, first: "o"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass := newPass(t, 1)
			pass.submit("e", time.Hour)
			pass.submit("o", 2*time.Hour)
			require.NoError(t, pass.register.Charge(t.Context(), pass.pool, pass.usage().Now, 1))
			tries := 0
			config := pass.pool.Config()
			config.ConnConfig.Tracer = &meanwhile{
				beforeUsage: func() {
					if tries++; tries <= test.fills {
						pass.exec("UPDATE adjourn.quota_window SET count = 1")
					}
				},
				afterChoosing: func() { pass.exec("UPDATE adjourn.quota_window SET count = 0") },
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			batch, err := New(pool).Admit(t.Context(), pass.options(10, 10))
			require.NoError(t, err)
			require.Equal(t, test.tries, tries)
			require.Equal(t, work.Tally{test.first: 1}, batch.Granted)
		})
	}
}

// TestExemptAndUnknownFlowsAreNotTheArbitersBusiness: with a ceiling of 0 and all
// flags on they are not chosen here, but by the exempt lane (A47, A57, G6).
func TestExemptAndUnknownFlowsAreNotTheArbitersBusiness(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	pass.policy.Flows = map[string]bool{"e": true, "o": true, "x": true} // x is exempt on purpose as well
	exempt := pass.submit("x", time.Hour, 0)
	unknown := pass.submit("zzz", 2*time.Hour)
	batch := pass.admit(pass.options(10, 10))
	require.Zero(t, batch.Chosen)
	batch = pass.admit(pass.asking("job", exempt[0], unknown[0]))
	require.Zero(t, batch.Chosen)
	require.Empty(t, batch.Refused)
	carriages := pass.exempt(10)
	require.ElementsMatch(t, append(exempt, unknown...), carried(carriages))
	require.Zero(t, pass.count("SELECT count(*) FROM adjourn.deferral"))
	require.Zero(t, pass.count("SELECT count(*) FROM adjourn.quota_window"))
}

// TestClosingWorkIsLeftToTheOverrideLane even while there is room.
func TestClosingWorkIsLeftToTheOverrideLane(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", passMargin-time.Minute, -time.Hour, passMargin+time.Minute)
	require.Equal(t, ids[2:], carried(pass.admit(pass.options(10, 10)).Carriages))
	batch := pass.admit(pass.asking("job", ids[:2]...))
	require.Zero(t, batch.Chosen)
	require.Empty(t, batch.Carriages)
	require.Empty(t, batch.Refused)
	require.Equal(t, 1, pass.usage().Count)
}

// TestWorkHeldBySomebodyElseIsSkipped: it is neither waited for nor refused.
func TestWorkHeldBySomebodyElseIsSkipped(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, 2*time.Hour, 3*time.Hour)
	tx, err := pass.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.work WHERE id = $1 FOR UPDATE", ids[1])
	require.NoError(t, err)
	batch := pass.admit(pass.options(10, 10))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, []work.ID{ids[0], ids[2]}, carried(batch.Carriages))
	require.Empty(t, batch.Deferred)
	require.Equal(t, 2, pass.usage().Count)
}

// TestWorkTakenMeanwhileIsSkipped: chosen as pending, admitted by another or back
// in back-off before it was locked.
func TestWorkTakenMeanwhileIsSkipped(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, 2*time.Hour, 3*time.Hour)
	works, err := pass.store.find(t.Context(), pass.options(10, 10))
	require.NoError(t, err)
	require.Equal(t, ids[:1], carried(pass.admit(pass.asking("job", ids[0])).Carriages))
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 h' WHERE id = $1", ids[2])
	done, err := pass.store.reserveAndMark(t.Context(), pass.options(10, 10), works.candidates, 3)
	require.NoError(t, err)
	require.Equal(t, ids[1:2], carried(done.carriages))
	require.Equal(t, 2, pass.usage().Count)
}

// TestFiguresAddUpToTheCount: what the figures count of a window is what its
// counter counted.
func TestFiguresAddUpToTheCount(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 4)
	pass.submit("e", time.Hour, 2*time.Hour, 0, 0, 0)
	pass.submit("o", time.Hour, 3*time.Hour, 0, 0)
	for range 3 {
		pass.admit(pass.options(3, 2))
	}
	total := int64(0)
	for name, count := range pass.figures() {
		if name != "e deferred "+string(quota.ReasonQuotaFull) {
			total += count
		}
	}
	require.EqualValues(t, pass.usage().Count, total)
	require.Equal(t, pass.count("SELECT count(*) FROM adjourn.work WHERE state = 'admitted'"), pass.usage().Count)
	require.Equal(t, quotapostgres.DecisionDeferred, "deferred", "the word in defer.sql")
}
