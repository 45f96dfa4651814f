package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestOverrideTakesWhatIsClosing: late, closing and in back-off, in dispatch
// order, each under its own workflow; nothing else (A42, G2).
func TestOverrideTakesWhatIsClosing(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	closing := pass.submit("e", 10*time.Minute, -time.Hour, 5*time.Minute)
	observed := pass.submit("o", time.Minute)
	pass.submit("e", time.Hour, 0)
	pass.submit("x", time.Minute) // exempt: it needs no override
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 h' WHERE id = $1", closing[2])
	carriages := pass.overrides()
	want := []work.ID{closing[1], observed[0], closing[2], closing[0]}
	require.Equal(t, want, carried(carriages))
	for place, id := range want {
		require.Len(t, carriages[place].Works, 1, "an override travels alone")
		require.Equal(t, work.Override, carriages[place].Lane)
		require.Equal(t, work.OverrideWorkflowID(id), carriages[place].WorkflowID)
		require.Zero(t, carriages[place].SlotStart)
		require.Equal(t, "admitted override "+work.OverrideWorkflowID(id), pass.state(id))
	}
	require.Empty(t, pass.overrides(), "chosen once")
	require.Zero(t, pass.count("SELECT count(*) FROM adjourn.quota_window"), "no slot is taken (A44)")
}

// TestOverrideTakesOverWhatStandsStill: a granted work that nobody began in time,
// although recoveries started its workflow again meanwhile; its slot is wasted.
// One that is fresh, being attempted or not closing is left alone.
func TestOverrideTakesOverWhatStandsStill(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, time.Hour, time.Hour, 3*time.Hour)
	pass.admit(pass.options(10, 1))
	pass.exec("UPDATE adjourn.work SET deadline = clock_timestamp() WHERE id <> $1", ids[3])
	require.Empty(t, pass.overrides(), "admitted just now")
	waiting, one := pass.submit("e", time.Minute), pass.overrideOptions()
	one.Limit = 1
	carriages, err := pass.store.ChooseOverrides(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, waiting, carried(carriages), "what is fresh takes no place of what waits")
	pass.exec(`UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '2 min',
		changed_at = changed_at - INTERVAL '2 min' WHERE id <> $1`, ids[1])
	pass.begin(ids[2])
	pass.recover()
	require.Equal(t, ids[:1], carried(pass.overrides()))
	require.Equal(t, 1, pass.count(`SELECT count(*) FROM adjourn.work WHERE id = $1
		AND slot_start IS NULL AND admission IS NULL AND enforced IS NULL`, ids[0]))
	require.Equal(t, 4, pass.usage().Count, "slots stay counted")
}

// TestOverrideSkipsWhatIsHeld instead of waiting for it.
func TestOverrideSkipsWhatIsHeld(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("e", time.Minute, 2*time.Minute)
	tx, err := pass.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.work WHERE id = $1 FOR UPDATE", ids[0])
	require.NoError(t, err)
	require.Equal(t, ids[1:], carried(pass.overrides()))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, ids[:1], carried(pass.overrides()))
}

// TestOverrideIsBounded by its limit, the most urgent first.
func TestOverrideIsBounded(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("e", 3*time.Minute, time.Minute, 2*time.Minute)
	options := pass.overrideOptions()
	for _, want := range [][]work.ID{{ids[1], ids[2]}, {ids[0]}, {}} {
		options.Limit = 2
		carriages, err := pass.store.ChooseOverrides(t.Context(), options)
		require.NoError(t, err)
		require.Equal(t, want, carried(carriages))
	}
	pass.submit("e", time.Minute)
	options.Limit = -1
	carriages, err := pass.store.ChooseOverrides(t.Context(), options)
	require.NoError(t, err)
	require.Empty(t, carriages)
}

// TestUrgentLanesNameNoTableOfTheQuota (A44, A45, A46, G2, G6).
func TestUrgentLanesNameNoTableOfTheQuota(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{
		overrideSQL, exemptSQL, chooseSQL, askedSQL, lockSQL, markSQL, presentWindowSQL,
		deferUnarbitratedSQL, recoverSlotsSQL, recoverAttemptsSQL, wakeSQL, restartSQL, byIndexSQL,
	} {
		require.NotContains(t, statement, "quota_")
	}
}
