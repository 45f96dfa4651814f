package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestShareOut: undated works get their share of the room and no more, dated ones
// keep their order, and without a share nothing moves.
func TestShareOut(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	works := func(dated, undated int) (candidates []candidate) {
		for id := range dated + undated {
			ref := work.Ref{ID: work.ID(id + 1)}
			if id < dated {
				ref.Deadline = deadline
			}
			candidates = append(candidates, candidate{Ref: ref})
		}
		return candidates
	}
	cases := map[string]struct {
		dated, undated, room int
		share                float64
		want                 []work.ID
	}{
		"None":        {3, 2, 2, 0, []work.ID{1, 2, 3, 4, 5}},
		"Half":        {3, 2, 2, 0.5, []work.ID{1, 4, 2, 3, 5}},
		"RoundedUp":   {3, 2, 2, 0.01, []work.ID{1, 4, 2, 3, 5}},
		"All":         {3, 2, 2, 1, []work.ID{4, 5, 1, 2, 3}},
		"FewWait":     {3, 1, 4, 0.5, []work.ID{1, 2, 3, 4}},
		"NoRoom":      {2, 2, 0, 0.5, []work.ID{1, 2, 3, 4}},
		"OnlyUndated": {0, 2, 1, 0.5, []work.ID{1, 2}},
		"OnlyDated":   {2, 0, 1, 0.5, []work.ID{1, 2}},
		"Nonsense":    {2, 2, 2, 7, []work.ID{3, 4, 1, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []work.ID
			for _, shared := range shareOut(works(c.dated, c.undated), c.room, c.share) {
				got = append(got, shared.ID)
			}
			require.Equal(t, c.want, got)
		})
	}
}
