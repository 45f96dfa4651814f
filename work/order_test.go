package work

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCompareIsATotalOrder over random works: antisymmetric, transitive, equal
// only to itself (G4).
func TestCompareIsATotalOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	ref := func() Ref {
		made := Ref{ID: ID(1 + random.IntN(6))}
		if days := random.IntN(4); days > 0 {
			zone := time.FixedZone("", 3600*random.IntN(3))
			made.Deadline = noon.AddDate(0, 0, days).In(zone)
		}
		return made
	}
	for range 20000 {
		a, b, c := ref(), ref(), ref()
		require.Equal(t, Compare(a, b), -Compare(b, a), "%v %v", a, b)
		require.Contains(t, []int{-1, 0, 1}, Compare(a, b))
		require.Equal(t, Compare(a, b) == 0, a.ID == b.ID && a.Deadline.Equal(b.Deadline), "%v %v", a, b)
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 {
			require.LessOrEqual(t, Compare(a, c), 0, "%v %v %v", a, b, c)
		}
	}
}

// TestCompareGoesByDeadline: earliest first, none last, ties by arrival, whatever
// the order they come in (A39, A40, A41).
func TestCompareGoesByDeadline(t *testing.T) {
	t.Parallel()
	want := []Ref{
		{ID: 9, Deadline: time.Unix(-1, 0)}, // long overdue, before 1970 even
		{ID: 4, Deadline: noon},
		{ID: 3, Deadline: noon.Add(1)},
		{ID: 1, Deadline: noon.Add(time.Hour)},
		{ID: 2, Deadline: noon.Add(time.Hour)},
		{ID: 1<<63 - 1, Deadline: noon.Add(2 * time.Hour)},
		{ID: 5},
		{ID: 6},
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		got := slices.Clone(want)
		random.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, Compare)
		require.Equal(t, want, got)
	}
}
