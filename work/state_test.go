package work

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatesFollowTheDiagram: the arrows of the package comment are the steps a
// work may take, and no others are.
func TestStatesFollowTheDiagram(t *testing.T) {
	t.Parallel()
	arrows := map[State][]State{
		Pending:    {Admitted, Cancelled, Emitted},
		Admitted:   {Attempting, Pending, Cancelled, Emitted},
		Attempting: {Emitted, Pending, Admitted, Failed},
		Failed:     {Pending, Cancelled, Emitted},
		Emitted:    {},
		Cancelled:  {},
	}
	require.Len(t, arrows, len(States()), "a state without a row")
	for _, from := range States() {
		for _, to := range append(States(), "unheard-of") {
			require.Equal(t, contains(arrows[from], to), from.CanBecome(to), "%s to %s", from, to)
		}
	}
	require.False(t, State("unheard-of").CanBecome(Pending))
}

func contains(states []State, wanted State) bool {
	for _, state := range states {
		if state == wanted {
			return true
		}
	}
	return false
}

// TestFinishedStatesAreFinal: from everywhere else a work can still end (G9).
func TestFinishedStatesAreFinal(t *testing.T) {
	t.Parallel()
	for _, state := range States() {
		leaves := false
		for _, next := range States() {
			leaves = leaves || state.CanBecome(next)
		}
		require.Equal(t, state.Finished(), !leaves, state)
	}
	for _, state := range States() {
		require.True(t, reaches(state, Emitted) || state == Cancelled, state)
	}
}

// reaches tells whether steps lead from one state to the other.
func reaches(from, to State) bool {
	seen := map[State]bool{from: true}
	for range States() {
		for state := range seen {
			for _, next := range States() {
				if state.CanBecome(next) {
					seen[next] = true
				}
			}
		}
	}
	return seen[to]
}

// TestErrorsName what was asked, the state, and what is accepted.
func TestErrorsName(t *testing.T) {
	t.Parallel()
	var err error = &StateError{ID: 7, State: Attempting, Action: "cancel", Accepted: []State{Pending, Failed}}
	require.EqualError(t, err, "cancel work 7: it is attempting; accepted are works that are pending or failed")
	err = &StateError{ID: 8, State: Emitted, Action: "retry", Accepted: []State{Failed}}
	require.EqualError(t, err, "retry work 8: it is emitted; accepted are works that are failed")
	require.EqualError(t, &SubmissionError{Field: "flow", Message: "flow NULL"}, "flow NULL")
}

func TestTallyTotals(t *testing.T) {
	t.Parallel()
	require.Zero(t, Tally(nil).Total())
	require.Equal(t, 5, Tally{"a": 2, "b": 3}.Total())
}

func TestListsAreComplete(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Lane{"governed", "override", "exempt"}, Lanes())
	require.Equal(t, []Outcome{"emitted", "deferred", "unsent", "spent", "failed"}, Outcomes())
	require.Equal(t, "42", fmt.Sprint(ID(42)))
}
