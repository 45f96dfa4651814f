package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// candidatesOf makes candidates 1, 2, … of kinds: e for enforced, o for observed.
func candidatesOf(kinds string) []candidate {
	var candidates []candidate
	for place, kind := range kinds {
		candidates = append(candidates, candidate{
			Ref: work.Ref{ID: work.ID(place + 1), Flow: string(kind)}, enforced: kind == 'e',
		})
	}
	return candidates
}

func idsOfCandidates(candidates []candidate) []work.ID {
	var ids []work.ID
	for _, waits := range candidates {
		ids = append(ids, waits.ID)
	}
	return ids
}

func TestConsider(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		kinds          string
		room, limit    int
		hold           bool
		mayGo, refused []work.ID
	}{
		{name: "nothing waits", room: 3, limit: 3},
		{name: "room for all", kinds: "eoe", room: 3, limit: 9, mayGo: []work.ID{1, 2, 3}},
		{name: "the first go, in one order", kinds: "eoeo", room: 2, limit: 9, mayGo: []work.ID{1, 2, 4}, refused: []work.ID{3}},
		{name: "no room", kinds: "eoee", limit: 9, mayGo: []work.ID{2}, refused: []work.ID{1, 3, 4}},
		{name: "hold refuses observed works too", kinds: "eoe", limit: 9, hold: true, refused: []work.ID{1, 2, 3}},
		{name: "no more refused than the limit", kinds: "eeeoe", limit: 2, mayGo: []work.ID{4}, refused: []work.ID{1, 2}},
		{name: "no more go than the limit", kinds: "eeee", room: 4, limit: 2, mayGo: []work.ID{1, 2}},
		{name: "what comes after the limit is not considered", kinds: "oooe", limit: 2, mayGo: []work.ID{1, 2}},
		{name: "limit zero", kinds: "eo", room: 9},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mayGo, refused := consider(candidatesOf(test.kinds), test.room, test.limit, test.hold)
			require.Equal(t, test.mayGo, idsOfCandidates(mayGo))
			require.Equal(t, test.refused, idsOfCandidates(refused))
		})
	}
}

func TestDivide(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                         string
		grant                        quota.Grant
		granted, wouldDefer, refused []work.ID
	}{
		{"all", quota.Grant{Slots: 5}, []work.ID{1, 2, 3, 4, 5}, nil, nil},
		{"the first get the slots", quota.Grant{Slots: 3, Reason: quota.ReasonQuotaFull}, []work.ID{1, 2, 3}, []work.ID{4}, []work.ID{5}},
		{"none", quota.Grant{Reason: quota.ReasonQuotaFull}, nil, []work.ID{2, 4}, []work.ID{1, 3, 5}},
		{"hold", quota.Grant{Reason: quota.ReasonThirdPartyLimit}, nil, nil, []work.ID{1, 2, 3, 4, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			going, refused := divide(candidatesOf("eoeoe"), test.grant)
			var granted, wouldDefer []work.ID
			for _, goes := range going {
				if goes.admission == work.Granted {
					granted = append(granted, goes.ID)
					continue
				}
				require.False(t, goes.enforced, "an enforced work never goes without a slot")
				wouldDefer = append(wouldDefer, goes.ID)
			}
			require.Equal(t, test.granted, granted)
			require.Equal(t, test.wouldDefer, wouldDefer)
			require.Equal(t, test.refused, idsOfCandidates(refused))
		})
	}
}

func TestCarriagesOf(t *testing.T) {
	t.Parallel()
	window := time.Date(2026, 7, 1, 14, 0, 0, 0, time.UTC)
	going, _ := divide(candidatesOf("eeoee"), quota.Grant{Slots: 5})
	options := AdmitOptions{AdmitOptions: work.AdmitOptions{Chunk: 2}}
	carriages := carriagesOf(going, window, options)
	require.Equal(t, []string{
		"adjourn/governed/2026-07-01T14:00:00Z/1",
		"adjourn/governed/2026-07-01T14:00:00Z/3",
		"adjourn/governed/2026-07-01T14:00:00Z/5",
	}, workflowIDs(carriages))
	require.Equal(t, []work.ID{1, 2, 3, 4, 5}, carried(carriages))
	require.Len(t, carriages[0].Works, 2)
	require.Equal(t, work.Governed, carriages[0].Lane)
	require.Equal(t, window, carriages[0].SlotStart)

	options.Chunk = 0
	require.Len(t, carriagesOf(going, window, options), 5, "a chunk below 1 is 1")
	options.WorkflowID = "job-7"
	require.Equal(t, []string{"job-7"}, workflowIDs(carriagesOf(going, window, options)))
}
