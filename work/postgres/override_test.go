package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestOverridesAreWhatIsClosing: governed works whose deadline is closing, the
// overdue first, in back-off or not, alone each; with the quota's tables gone
// (A42, A45, G2).
func TestOverridesAreWhatIsClosing(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	soon := pass.submit("e", 10*time.Minute)[0]
	overdue := pass.submit("o", -time.Hour)[0]
	backingOff := pass.submit("e", 5*time.Minute)[0]
	pass.submit("e", time.Hour, 0)    // neither is closing
	pass.submit("x", 5*time.Minute)   // exempt: nothing throttles it
	pass.submit("zzz", 5*time.Minute) // unknown: nothing throttles it
	pass.exec("UPDATE adjourn.work SET not_before = clock_timestamp() + INTERVAL '1 day' WHERE id = $1", backingOff)
	pass.exec("DROP TABLE adjourn.quota_window, adjourn.quota_hold, adjourn.quota_figure, adjourn.quota_reservation, adjourn.quota_cadence")

	chosen := pass.overrides()
	require.Equal(t, []work.ID{overdue, backingOff, soon}, carried(chosen))
	require.Equal(t, []string{
		work.OverrideWorkflowID(overdue), work.OverrideWorkflowID(backingOff), work.OverrideWorkflowID(soon),
	}, workflowIDs(chosen))
	require.Equal(t, "admitted override "+work.OverrideWorkflowID(soon), pass.state(soon))
	require.Empty(t, pass.overrides(), "each is chosen once")
}

// TestOverrideTakesOverWhatStandsStill: a granted work whose workers are gone is
// taken over when its deadline closes; one that is being attempted is not.
func TestOverrideTakesOverWhatStandsStill(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 10)
	ids := pass.submit("e", time.Hour, time.Hour, time.Hour)
	require.Len(t, pass.admit(pass.options(10, 10)).Carriages, 1)
	pass.exec("UPDATE adjourn.work SET deadline = clock_timestamp() + INTERVAL '1 min'")
	require.Empty(t, pass.overrides(), "they were admitted just now")

	pass.exec("UPDATE adjourn.work SET changed_at = clock_timestamp() - INTERVAL '1 hour' WHERE id <> $1", ids[0])
	pass.begin(ids[1])
	require.Equal(t, []work.ID{ids[2]}, carried(pass.overrides()))
}
