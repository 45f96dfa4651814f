package quota_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones below must exist on every machine

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// instant reads RFC 3339, which may name any offset from UTC.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	return parsed
}

// TestWindowAtFloorsOnTheUTCGrid: fixed UTC hours, whatever the offset an instant
// is written in (A13, A23, A26).
func TestWindowAtFloorsOnTheUTCGrid(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		instant string
		length  time.Duration
		start   string
	}{
		{"on the hour", "2026-03-01T14:00:00Z", time.Hour, "2026-03-01T14:00:00Z"},
		{"last microsecond", "2026-03-01T14:59:59.999999Z", time.Hour, "2026-03-01T14:00:00Z"},
		{"last nanosecond", "2026-03-01T14:59:59.999999999Z", time.Hour, "2026-03-01T14:00:00Z"},
		{"next hour", "2026-03-01T15:00:00Z", time.Hour, "2026-03-01T15:00:00Z"},
		{"half-hour zone", "2026-03-01T20:10:00+05:30", time.Hour, "2026-03-01T14:00:00Z"},
		{"three-quarter-hour zone", "2026-03-01T20:10:00+05:45", time.Hour, "2026-03-01T14:00:00Z"},
		{"year end", "2026-12-31T23:59:59.999Z", time.Hour, "2026-12-31T23:00:00Z"},
		{"year start", "2027-01-01T00:00:00Z", time.Hour, "2027-01-01T00:00:00Z"},
		{"year end, one day", "2026-12-31T23:59:59.999Z", quota.Day, "2026-12-31T00:00:00Z"},
		{"leap day", "2028-02-29T12:00:00Z", quota.Day, "2028-02-29T00:00:00Z"},
		{"before the epoch", "1969-12-31T23:59:59.5Z", time.Hour, "1969-12-31T23:00:00Z"},
		{"before the epoch, on the hour", "1969-12-31T23:00:00Z", time.Hour, "1969-12-31T23:00:00Z"},
		{"epoch", "1970-01-01T00:00:00Z", time.Hour, "1970-01-01T00:00:00Z"},
		{"long before the epoch", "1900-06-15T07:31:00Z", 15 * time.Minute, "1900-06-15T07:30:00Z"},
		{"one second", "2026-03-01T14:00:07.25Z", time.Second, "2026-03-01T14:00:07Z"},
		{"twenty seconds", "2026-03-01T14:00:59Z", 20 * time.Second, "2026-03-01T14:00:40Z"},
		{"eight hours", "2026-03-01T15:59:59Z", 8 * time.Hour, "2026-03-01T08:00:00Z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			window := quota.WindowAt(instant(t, c.instant), c.length)
			require.Equal(t, instant(t, c.start).UTC(), window.Start)
			require.Equal(t, time.UTC, window.Start.Location())
			require.Equal(t, c.length, window.Length)
			require.True(t, window.Contains(instant(t, c.instant)))
		})
	}
}

// TestWindowAtIgnoresZonesAndDaylightSaving walks every quarter of an hour of the
// days on which clocks change: windows follow each other without gap, overlap or
// shift (A26).
func TestWindowAtIgnoresZonesAndDaylightSaving(t *testing.T) {
	t.Parallel()
	zones := []string{
		"Europe/Paris", "America/New_York", "America/St_Johns", "Asia/Kolkata",
		"Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Chatham",
	}
	changes := []string{
		"2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", // Paris
		"2026-03-08T00:00:00Z", "2026-11-01T00:00:00Z", // New York, St John's
		"2026-04-04T00:00:00Z", "2026-10-03T00:00:00Z", // Lord Howe, Chatham
	}
	for _, zone := range zones {
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		for _, change := range changes {
			first := instant(t, change)
			for at := first; at.Before(first.Add(2 * quota.Day)); at = at.Add(15 * time.Minute) {
				window := quota.WindowAt(at.In(location), time.Hour)
				require.Equal(t, quota.WindowAt(at, time.Hour), window, "%s in %s", at, zone)
				require.Equal(t, window.End(), quota.WindowAt(window.End(), time.Hour).Start)
				require.Zero(t, window.Start.UTC().Minute())
			}
		}
	}
}

// TestWindowAtHoldsItsInstant: for random instants, on both sides of the epoch,
// the window contains the instant and lies on the grid.
func TestWindowAtHoldsItsInstant(t *testing.T) {
	t.Parallel()
	const seed = 20260301
	random := rand.New(rand.NewPCG(seed, seed))
	lengths := []time.Duration{time.Second, 20 * time.Second, 15 * time.Minute, time.Hour, quota.Day}
	for range 20_000 {
		at := time.UnixMicro(random.Int64N(8e15) - 4e15)
		for _, length := range lengths {
			window := quota.WindowAt(at, length)
			require.True(t, window.Contains(at), "%s in windows of %s", at, length)
			require.Zero(t, window.Start.UnixMicro()%length.Microseconds())
		}
	}
}

func TestWindowAtPanicsOffTheGrid(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { quota.WindowAt(time.Unix(0, 0), 7*time.Minute) })
}

func TestValidateLength(t *testing.T) {
	t.Parallel()
	accepted := []time.Duration{
		time.Second, 2 * time.Second, 20 * time.Second, time.Minute, 15 * time.Minute,
		time.Hour, 90 * time.Minute, 8 * time.Hour, quota.Day,
	}
	for _, length := range accepted {
		require.NoError(t, quota.ValidateLength(length))
	}
	refused := []time.Duration{
		0, -time.Hour, time.Nanosecond, 999 * time.Millisecond, 1500 * time.Millisecond,
		7 * time.Minute, 25 * time.Hour, 2 * quota.Day, time.Hour + time.Nanosecond, 1<<63 - 1, -1 << 63,
	}
	for _, length := range refused {
		err := quota.ValidateLength(length)
		require.ErrorContains(t, err, length.String(), "the value is named")
		require.ErrorContains(t, err, "divide 24h", "what is accepted is named")
	}
}

func TestWindowIsHalfOpen(t *testing.T) {
	t.Parallel()
	window := quota.WindowAt(instant(t, "2026-03-01T14:30:00Z"), time.Hour)
	require.True(t, window.Contains(window.Start))
	require.False(t, window.Contains(window.Start.Add(-1)))
	require.True(t, window.Contains(window.End().Add(-1)))
	require.False(t, window.Contains(window.End()))
}

func TestWindowOpenForTheGuard(t *testing.T) {
	t.Parallel()
	window := quota.WindowAt(instant(t, "2026-03-01T14:30:00Z"), time.Hour)
	guard := 2 * time.Second
	require.True(t, window.OpenFor(window.Start, guard))
	require.True(t, window.OpenFor(window.End().Add(-guard), guard), "exactly the guard is left")
	require.False(t, window.OpenFor(window.End().Add(-guard+1), guard))
	require.False(t, window.OpenFor(window.Start.Add(-1), guard), "not begun")
	require.False(t, window.OpenFor(window.End(), 0), "over")
	require.False(t, window.OpenFor(window.Start, window.Length+1), "the guard is longer than the window")
}
