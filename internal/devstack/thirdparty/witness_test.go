package thirdparty

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	return at
}

// TestCountByWindow: half-open windows on the UTC grid, lanes apart.
func TestCountByWindow(t *testing.T) {
	t.Parallel()
	arrivals := []Arrival{
		{At: instant(t, "2026-03-01T10:59:59.999999Z"), Lane: "governed"},
		{At: instant(t, "2026-03-01T11:00:00Z"), Lane: "governed"},
		{At: instant(t, "2026-03-01T13:30:00+02:00"), Lane: "override"},
		{At: instant(t, "2026-03-01T11:30:00Z"), Lane: "governed"},
	}
	require.Equal(t, []WindowCount{
		{Start: instant(t, "2026-03-01T10:00:00Z"), Total: 1, Lanes: map[string]int{"governed": 1}},
		{Start: instant(t, "2026-03-01T11:00:00Z"), Total: 3, Lanes: map[string]int{"governed": 2, "override": 1}},
	}, countByWindow(arrivals, time.Hour))
	require.Len(t, countByWindow(arrivals, 30*time.Minute), 3)
	require.Empty(t, countByWindow(nil, time.Hour))
}

// TestGaps: repeats and order do not matter, streams are apart, a missing start
// is a gap (G5).
func TestGaps(t *testing.T) {
	t.Parallel()
	number := func(stream string, number int64) Arrival { return Arrival{Stream: stream, Number: number} }
	require.Empty(t, gaps([]Arrival{number("a", 2), number("a", 1), number("a", 2), number("b", 1), {}}))
	require.Equal(t, []Gap{{Stream: "a", From: 1, To: 1}, {Stream: "a", From: 3, To: 4}, {Stream: "b", From: 1, To: 6}},
		gaps([]Arrival{number("b", 7), number("a", 5), number("a", 2), number("a", 2)}))
}

// TestDuplicateEffects counts works, not attempts.
func TestDuplicateEffects(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"1"}, duplicateEffects([]Arrival{
		{Work: "1", Effect: true}, {Work: "2", Effect: true}, {Work: "2"}, {Work: "1", Effect: true}, {Effect: true}, {Effect: true},
	}))
}

// TestSharedNumbers: one number, one work, however many attempts (G5).
func TestSharedNumbers(t *testing.T) {
	t.Parallel()
	require.Equal(t, []SharedNumber{{Stream: "a", Number: 2, Works: []string{"7", "8"}}}, sharedNumbers([]Arrival{
		{Work: "7", Stream: "a", Number: 2},
		{Work: "8", Stream: "a", Number: 2},
		{Work: "7", Stream: "a", Number: 2},
		{Work: "8", Stream: "b", Number: 2},
		{Work: "9", Stream: "a", Number: 3},
		{Work: "9", Stream: "a", Number: 3},
		{Work: "1"},
		{Work: "2"},
	}))
}
