package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestDeferralLeavesTheWorkAsItWas: not a byte of its row, nor the version of it,
// changes; what is written is the record and the figure (A33, A36, G3).
func TestDeferralLeavesTheWorkAsItWas(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	ids := pass.submit("e", time.Hour, 2*time.Hour, 0)
	before := pass.rows(ids[1:]...)
	for range 3 {
		pass.admit(pass.options(10, 1))
	}
	require.Equal(t, before, pass.rows(ids[1:]...))
	require.Equal(t, 2, pass.count("SELECT count(*) FROM adjourn.deferral"))
	require.Zero(t, pass.count("SELECT count(*) FROM adjourn.sequence"), "no number is allocated (A35)")
}

// TestDeferralIsCountedOncePerWindow, and again in the next (G3).
func TestDeferralIsCountedOncePerWindow(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("e", time.Hour, 0)
	first := pass.admit(pass.options(10, 1))
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": 2}}, first.Deferred)
	for range 3 {
		again := pass.admit(pass.asking("job", ids...))
		require.Empty(t, again.Deferred, "counted before in this window")
		require.Equal(t, 2, again.Chosen)
		require.Len(t, again.Refused, 2, "who asks is told each time")
	}
	require.Equal(t, map[string]int64{"e deferred quota_full": 2}, pass.figures())

	pass.exec("UPDATE adjourn.deferral SET window_start = window_start - INTERVAL '1 day'")
	next := pass.admit(pass.options(10, 1))
	require.Equal(t, map[string]work.Tally{"quota_full": {"e": 2}}, next.Deferred)
	require.Equal(t, 4, pass.count("SELECT count(*) FROM adjourn.deferral"))
}

// TestDeferralKeepsItsFirstReason: refused again in the window for another reason,
// it is the same deferral.
func TestDeferralKeepsItsFirstReason(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	pass.submit("e", time.Hour)
	pass.admit(pass.options(10, 1))
	require.NoError(t, pass.register.Hold(t.Context(), pass.pool, pass.usage().Now.Add(time.Hour)))
	require.Empty(t, pass.admit(pass.options(10, 1)).Deferred)
	require.Equal(t, []string{"quota_full"}, passRead[string](pass, "SELECT reason FROM adjourn.deferral"))
}

// TestDeferralThatCannotBeRecordedLosesNoCarriage: the works are admitted by then.
func TestDeferralThatCannotBeRecordedLosesNoCarriage(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 1)
	ids := pass.submit("e", time.Hour, 2*time.Hour)
	pass.exec("ALTER TABLE adjourn.deferral RENAME TO elsewhere")
	batch, err := pass.store.Admit(t.Context(), pass.options(10, 1))
	var arbiterError *ArbiterError
	require.ErrorAs(t, err, &arbiterError)
	require.ErrorContains(t, err, "record deferrals")
	require.Equal(t, ids[:1], carried(batch.Carriages))

	pass.policy.Ceiling = 2
	admitter, told := pass.admitter(pass.pool)
	pass.submit("e", 3*time.Hour)
	batch, err = admitter.Admit(t.Context(), work.AdmitOptions{Limit: 10, Chunk: 1})
	require.NoError(t, err)
	require.Equal(t, ids[1:], carried(batch.Carriages))
	require.Len(t, told.list(), 1)
}
