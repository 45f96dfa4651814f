package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, time.December, 1, 12, 0, 0, 0, time.UTC)

// TestClosing: from the margin before its deadline on, for good (A42, G2).
func TestClosing(t *testing.T) {
	t.Parallel()
	const margin = 15 * time.Minute
	tests := []struct {
		name     string
		deadline time.Time
		margin   time.Duration
		closing  bool
	}{
		{"no deadline", time.Time{}, margin, false},
		{"no deadline, an endless margin", time.Time{}, 1<<63 - 1, false},
		{"far away", noon.Add(time.Hour), margin, false},
		{"a nanosecond before the margin", noon.Add(margin + 1), margin, false},
		{"exactly at the margin", noon.Add(margin), margin, true},
		{"a nanosecond inside the margin", noon.Add(margin - 1), margin, true},
		{"exactly due", noon, margin, true},
		{"overdue", noon.Add(-time.Hour), margin, true},
		{"no margin, not due", noon.Add(1), 0, false},
		{"no margin, exactly due", noon, 0, true},
		{"a negative margin counts as none, due", noon, -time.Hour, true},
		{"a negative margin counts as none, overdue", noon.Add(-time.Minute), -time.Hour, true},
		{"a negative margin counts as none, not due", noon.Add(time.Minute), -time.Hour, false},
		{"another time zone is the same instant", noon.Add(margin).In(time.FixedZone("", 19800)), margin, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.closing, Closing(test.deadline, noon, test.margin))
			at := ClosesAt(test.deadline, test.margin)
			if test.deadline.IsZero() {
				require.True(t, at.IsZero())
				return
			}
			require.True(t, Closing(test.deadline, at, test.margin), "closing from ClosesAt on")
			require.False(t, Closing(test.deadline, at.Add(-1), test.margin), "and not before")
		})
	}
}
