package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/dbtest"
)

// TestWindowIsThePlatforms: the first process decides, another length is refused
// with what to do, and a setup changes it. Two lengths side by side would be two
// budgets (G1).
func TestWindowIsThePlatforms(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	require.NoError(t, agreeOnWindow(t.Context(), db, time.Hour))
	require.NoError(t, agreeOnWindow(t.Context(), db, time.Hour))

	var mismatch *WindowError
	require.ErrorAs(t, agreeOnWindow(t.Context(), db, 15*time.Minute), &mismatch)
	require.Equal(t, WindowError{Have: "1h0m0s", Want: "15m0s"}, *mismatch)
	require.ErrorContains(t, mismatch, "start with QUOTA_WINDOW=1h0m0s")

	require.Equal(t, AlreadyThere, setUpWindow(t.Context(), db, time.Hour).Result)
	require.Equal(t, Updated, setUpWindow(t.Context(), db, 15*time.Minute).Result)
	require.NoError(t, agreeOnWindow(t.Context(), db, 15*time.Minute))
	require.ErrorAs(t, agreeOnWindow(t.Context(), db, time.Hour), &mismatch)
}
