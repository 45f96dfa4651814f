package work

import "cmp"

// Compare orders works for dispatch: deadline ascending, none last, ties by
// arrival (G4). It is the order of the index that chooses them.
func Compare(a, b Ref) int {
	switch {
	case a.Deadline.IsZero() && b.Deadline.IsZero():
	case a.Deadline.IsZero():
		return 1
	case b.Deadline.IsZero():
		return -1
	default:
		if order := a.Deadline.Compare(b.Deadline); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.ID, b.ID)
}
