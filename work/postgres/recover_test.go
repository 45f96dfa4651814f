package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// passRecoverOptions backs off so long that no back-off is over within a test.
func passRecoverOptions() work.RecoverOptions {
	return work.RecoverOptions{
		Window: quota.Day, RestartAfter: time.Minute, NoRetryFlows: []string{"once"},
		Backoff: work.Backoff{Base: 100 * time.Hour, Max: 1000 * time.Hour}, Limit: 100,
	}
}

func (pass *pass) recover() work.Recovery {
	pass.t.Helper()
	recovery, err := pass.store.Recover(pass.t.Context(), passRecoverOptions())
	require.NoError(pass.t, err)
	return recovery
}

// TestRecoverEndsSlotsWhoseWindowIsOver: admitted, never begun, and its window
// ended: pending again, with why.
func TestRecoverEndsSlotsWhoseWindowIsOver(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", 2*time.Hour, 3*time.Hour)
	pass.admit(pass.options(10, 1))
	pass.exec(`UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h',
		carried_since = carried_since - INTERVAL '24 h' WHERE id = $1`, ids[0])
	recovery := pass.recover()
	require.Equal(t, work.Recovery{ExpiredSlots: 1}, recovery)
	require.Equal(t, "pending", pass.state(ids[0]))
	require.Equal(t, []string{"deferred slot_expired"}, passRead[string](pass,
		"SELECT outcome || ' ' || reason FROM adjourn.work WHERE id = $1 AND not_before IS NULL", ids[0]))
	require.Contains(t, pass.state(ids[1]), "admitted governed", "its window is not over")
	require.Equal(t, ids[:1], carried(pass.admit(pass.options(10, 1)).Carriages))
	require.Equal(t, 3, pass.usage().Count, "the slot that died stays counted")
}

// TestRecoverEndsLostAttempts: what becomes of an attempt nobody recorded depends
// on its lane; each leaves its own evidence (G1, G9).
func TestRecoverEndsLostAttempts(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	governed := pass.submit("e", 2*time.Hour, 3*time.Hour)
	urgent := pass.submit("e", time.Minute, time.Minute)
	exempt := pass.submit("x", 2*time.Hour)
	once := pass.submit("once", 3*time.Hour)
	onceGoverned := pass.submit("o", 2*time.Hour) // of the flow "once" for the governed lane
	pass.exec("UPDATE adjourn.work SET flow = 'once' WHERE id = $1", onceGoverned[0])
	pass.policy.Flows["once"] = true
	pass.admit(pass.options(10, 10))
	pass.overrides()
	delete(pass.policy.Flows, "once")
	pass.exempt(10)
	pass.exec("UPDATE adjourn.work SET state = 'pending', lane = NULL, workflow_id = NULL, carried_since = NULL, slot_start = NULL, admission = NULL WHERE id = $1", once[0])
	pass.exempt(10)
	all := slices.Concat(governed, urgent, exempt, once, onceGoverned)
	pass.begin(all...)
	pass.exec("UPDATE adjourn.work SET flow = 'once' WHERE id = $1", urgent[1])
	require.Zero(t, pass.recover().LostAttempts, "they may still end")

	inFlight := governed[1]
	pass.exec(`UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() - INTERVAL '1 s'
		WHERE id <> $1`, inFlight)
	carriers := map[work.ID]string{urgent[0]: pass.carrier(urgent[0]), exempt[0]: pass.carrier(exempt[0])}
	before := pass.usage().Now
	require.Equal(t, len(all)-1, pass.recover().LostAttempts)
	after := pass.usage().Now

	require.Equal(t, "pending", pass.state(governed[0]))
	require.Equal(t, "pending", pass.state(onceGoverned[0]), "the governed lane always retries")
	require.Equal(t, "admitted override "+carriers[urgent[0]], pass.state(urgent[0]))
	require.Contains(t, pass.state(urgent[1]), "admitted override", "an override is always retried")
	require.Equal(t, "admitted exempt "+carriers[exempt[0]], pass.state(exempt[0]))
	require.Equal(t, "failed", pass.state(once[0]))
	require.Contains(t, pass.state(inFlight), "attempting governed")
	require.Equal(t, len(all)-1, pass.count(`SELECT count(*) FROM adjourn.work
		WHERE reason = 'attempt_lost' AND number IS NOT NULL AND attempt_expires_at IS NULL`))
	require.Equal(t, len(all)-1, pass.count(`SELECT count(*) FROM adjourn.work_attempt AS a
		JOIN adjourn.work AS w ON w.id = a.work_id AND w.attempts = a.attempt AND w.number = a.number
		WHERE a.outcome = 'spent' AND a.spent AND a.detail = 'attempt_lost'`))
	require.Equal(t, 2, pass.count("SELECT count(*) FROM adjourn.work_attempt WHERE lane = 'governed' AND slot_start IS NOT NULL AND admission = 'granted'"))
	notBefore := passRead[time.Time](pass, "SELECT not_before FROM adjourn.work WHERE id = $1", governed[0])[0]
	require.False(t, notBefore.Before(before))
	require.False(t, notBefore.After(after.Add(100*time.Hour)))
	require.Equal(t, 1, pass.count("SELECT count(*) FROM adjourn.work WHERE id = $1 AND outcome = 'failed'", once[0]))
}

// carrier is the workflow that carries a work.
func (pass *pass) carrier(id work.ID) string {
	pass.t.Helper()
	return passRead[string](pass, "SELECT workflow_id FROM adjourn.work WHERE id = $1", id)[0]
}

// TestRecoverBacksOffAsTheDomainSays: never longer than work.Backoff allows, spread
// over all of it, whatever the number of attempts.
func TestRecoverBacksOffAsTheDomainSays(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1000)
	options := passRecoverOptions()
	for _, attempts := range []int{1, 2, 3, 4, 5, 60, 2_000_000_000} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			pass.exec("DELETE FROM adjourn.work")
			pass.exec("DELETE FROM adjourn.work_attempt")
			pass.submit("e", make([]time.Duration, 50)...)
			pass.admit(pass.options(100, 100))
			pass.begin(passRead[work.ID](pass, "SELECT id FROM adjourn.work")...)
			pass.exec("UPDATE adjourn.work SET attempts = $1, attempt_expires_at = clock_timestamp()", attempts)
			before := pass.usage().Now
			require.Equal(t, 50, pass.recover().LostAttempts)
			after := pass.usage().Now
			longest := options.Backoff.Delay(attempts, 1)
			waits := passRead[time.Time](pass, "SELECT not_before FROM adjourn.work ORDER BY not_before")
			require.False(t, waits[0].Before(before))
			require.False(t, waits[49].After(after.Add(longest)))
			require.Greater(t, waits[49].Sub(waits[0]), longest/3, "jitter spreads them")
		})
	}
}

// TestRecoverWakesBackOffsThatAreOver and no others.
func TestRecoverWakesBackOffsThatAreOver(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", 2*time.Hour, 3*time.Hour)
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() WHERE id = $1", ids[0])
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 h' WHERE id = $1", ids[1])
	require.Empty(t, pass.admit(pass.options(10, 1)).Carriages)
	require.Equal(t, work.Recovery{Woken: 1}, pass.recover())
	require.Equal(t, ids[:1], carried(pass.admit(pass.options(10, 1)).Carriages))
}

// TestRecoverRestartsWhatStandsStill: of every lane, grouped by workflow, but for
// attempts in flight and slots whose window is over.
func TestRecoverRestartsWhatStandsStill(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	pass.submit("e", 2*time.Hour, 3*time.Hour, 4*time.Hour)
	pass.submit("x", 2*time.Hour, 3*time.Hour)
	pass.submit("e", time.Minute)
	urgent, exempt := pass.overrides(), pass.exempt(10)
	governed := pass.admit(pass.options(10, 2)).Carriages
	pass.exec("UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '2 min'")
	began := governed[0].Works[0].ID
	pass.begin(began)

	recovery := pass.recover()
	require.Zero(t, recovery.ExpiredSlots+recovery.LostAttempts+recovery.Woken)
	governed[0].Works = governed[0].Works[1:]
	require.ElementsMatch(t, append(append(governed, urgent...), exempt...), recovery.Restart)
}

// TestRecoverIsBounded by its limit in each part.
func TestRecoverIsBounded(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	pass.submit("e", make([]time.Duration, 20)...)
	pass.admit(pass.options(100, 100))
	all := passRead[work.ID](pass, "SELECT id FROM adjourn.work ORDER BY id")
	pass.begin(all[5:10]...)
	pass.exec("UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() WHERE state = 'attempting'")
	// They stand still as well, but there is nothing to start any more.
	pass.exec(`UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h',
		carried_since = carried_since - INTERVAL '2 min' WHERE id = ANY($1)`, all[:5])
	pass.exec(`UPDATE adjourn.work SET state = 'pending', not_before = clock_timestamp(), lane = NULL, workflow_id = NULL,
		carried_since = NULL, slot_start = NULL, admission = NULL WHERE id = ANY($1)`, all[10:15])
	pass.exec("UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '2 min' WHERE id = ANY($1)", all[15:])
	options := passRecoverOptions()
	options.Limit = 3
	var total work.Recovery
	var restarted []work.ID
	for _, want := range []int{3, 2, 0} {
		recovery, err := pass.store.Recover(t.Context(), options)
		require.NoError(t, err)
		require.Equal(t, want, recovery.ExpiredSlots)
		require.Equal(t, want, recovery.LostAttempts)
		require.Equal(t, want, recovery.Woken)
		require.Len(t, carried(recovery.Restart), want)
		restarted = append(restarted, carried(recovery.Restart)...)
		total.Woken += recovery.Woken
	}
	require.ElementsMatch(t, all[15:], restarted)
	options.Limit = -1
	recovery, err := pass.store.Recover(t.Context(), options)
	require.NoError(t, err)
	require.Zero(t, recovery)
}

// TestRecoverSkipsWhatIsHeld: a work that somebody records or begins right now is
// neither waited for nor touched.
func TestRecoverSkipsWhatIsHeld(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", 2*time.Hour, 3*time.Hour, 4*time.Hour)
	pass.admit(pass.options(10, 1))
	pass.begin(ids[0])
	pass.exec("UPDATE adjourn.work SET attempt_expires_at = clock_timestamp() WHERE id = $1", ids[0])
	pass.exec("UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h' WHERE id = $1", ids[1])
	pass.exec("UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '2 min' WHERE id = $1", ids[2])
	resting := pass.submit("e", 5*time.Hour)
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() WHERE id = $1", resting[0])
	tx, err := pass.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.work FOR UPDATE")
	require.NoError(t, err)
	require.Zero(t, pass.recover())
	require.NoError(t, tx.Rollback(t.Context()))
	recovery := pass.recover()
	require.Equal(t, ids[2:], carried(recovery.Restart))
	recovery.Restart = nil
	require.Equal(t, work.Recovery{LostAttempts: 1, ExpiredSlots: 1, Woken: 1}, recovery)
}
