package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCrashBetweenReservationAndMarkLeavesNeither: the session dies in the
// statement that marks the works, or that marks none, after their slots were
// reserved. Neither is there afterwards, and the next admission has all of the room (design section 4).
func TestCrashBetweenReservationAndMarkLeavesNeither(t *testing.T) {
	t.Parallel()
	for name, death := range map[string]string{
		"Killed": "PERFORM pg_terminate_backend(pg_backend_pid())",
		"Failed": "RAISE EXCEPTION 'the mark fails'",
		"Lost":   "RETURN NULL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass := newPass(t, 2)
			ids := pass.submit("e", time.Hour, 2*time.Hour)
			// The trigger tells that the reservation was made when death came.
			pass.exec(`
				CREATE SEQUENCE seen;
				CREATE FUNCTION die() RETURNS TRIGGER LANGUAGE plpgsql AS $$
				BEGIN
				    PERFORM setval('seen', (SELECT count FROM adjourn.quota_window));
				    ` + death + `;
				    RETURN NEW;
				END $$;
				CREATE TRIGGER death BEFORE UPDATE ON adjourn.work FOR EACH ROW EXECUTE FUNCTION die()`)
			batch, err := pass.store.Admit(t.Context(), pass.options(10, 10))
			require.Error(t, err)
			require.Empty(t, batch.Carriages)
			require.Equal(t, 2, pass.count("SELECT last_value FROM seen"), "slots were reserved by then")
			require.Zero(t, pass.usage().Count)
			require.Empty(t, pass.figures())
			require.Equal(t, "pending", pass.state(ids[0]))

			pass.exec("DROP TRIGGER death ON adjourn.work")
			require.Equal(t, ids, carried(pass.admit(pass.options(10, 10)).Carriages))
			require.Equal(t, 2, pass.usage().Count)
		})
	}
}

// TestCrashAfterTheCommitLosesNothing: marked works whose workflows nobody started
// are found by a later pass, with their slots.
func TestCrashAfterTheCommitLosesNothing(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 2)
	pass.submit("e", time.Hour, 2*time.Hour)
	batch := pass.admit(pass.options(10, 10)) // and the process dies here
	require.Empty(t, pass.recover().Restart, "they were admitted just now")
	pass.exec("UPDATE adjourn.work SET carried_since = carried_since - INTERVAL '2 min'")
	require.Equal(t, batch.Carriages, pass.recover().Restart)
	require.Empty(t, pass.recover().Restart, "the next pass leaves them time")
	require.Equal(t, 2, pass.usage().Count)
}
