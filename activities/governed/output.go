package governed

import (
	"cmp"
	"slices"

	"github.com/adjourn/adjourn/work"
)

func (output *Output) sort() {
	slices.SortFunc(output.Results, func(a, b work.Result) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(output.Gone)
}

func idsOf(works []work.Ref) []work.ID {
	ids := make([]work.ID, len(works))
	for i, ref := range works {
		ids[i] = ref.ID
	}
	return ids
}
