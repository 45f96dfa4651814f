package postgres

import (
	"math"
	"slices"
)

// shareOut moves the first undated candidates up, so that they get the given
// share of room, rounded up, if as many wait. Candidates come in dispatch order,
// the undated last, and keep it otherwise. Earliest deadline first would let
// undated works wait for ever under permanent overload; a share of zero does.
func shareOut(candidates []candidate, room int, share float64) []candidate {
	firstUndated := slices.IndexFunc(candidates, func(c candidate) bool { return c.Deadline.IsZero() })
	if firstUndated < 0 {
		return candidates
	}
	dated, undated := candidates[:firstUndated], candidates[firstUndated:]
	kept := min(len(undated), int(math.Ceil(float64(room)*min(1, max(0, share)))))
	ahead := min(len(dated), room-kept)
	return slices.Concat(dated[:ahead], undated[:kept], dated[ahead:], undated[kept:])
}
