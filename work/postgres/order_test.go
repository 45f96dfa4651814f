package postgres

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestOrderIsByDeadlineWhateverTheArrival: the same works handed in in a hundred
// orders are chosen in the order of their deadlines, none last, equal ones by
// arrival, across enforced and observed flows alike (A39, A40, A41, G4).
func TestOrderIsByDeadlineWhateverTheArrival(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 100)
	arrivals := []struct {
		flow     string
		deadline time.Duration
	}{
		{"e", 3 * time.Hour},
		{"o", time.Hour},
		{"e", 0},
		{"e", 2 * time.Hour},
		{"o", 5 * time.Hour},
		{"o", 0},
		{"e", 2 * time.Hour},
		{"o", 2 * time.Hour},
		{"e", 20 * time.Minute},
		{"e", 48 * time.Hour},
	}
	base := pass.usage().Now
	for shuffle := range 100 {
		random := rand.New(rand.NewPCG(1, uint64(shuffle)))
		random.Shuffle(len(arrivals), func(i, j int) { arrivals[i], arrivals[j] = arrivals[j], arrivals[i] })
		pass.exec("DELETE FROM adjourn.work")
		for _, arrival := range arrivals {
			var deadline *time.Time
			if arrival.deadline > 0 {
				instant := base.Add(arrival.deadline)
				deadline = &instant
			}
			pass.exec("SELECT adjourn.submit_work($1, 'p', $2)", arrival.flow, deadline)
		}
		works, err := pass.store.find(t.Context(), pass.options(100, 1))
		require.NoError(t, err)
		require.Len(t, works.candidates, len(arrivals))
		require.True(t, slices.IsSortedFunc(works.candidates, func(a, b candidate) int {
			return work.Compare(a.Ref, b.Ref)
		}), "shuffle %d: %v", shuffle, works.candidates)
	}
}

// TestRationingGoesByDeadline: three slots for five works go to the three earliest
// deadlines, and the order outlives a deferral (A40, G4).
func TestRationingGoesByDeadline(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	ids := pass.submit("e", 3*time.Hour, time.Hour, 0, 2*time.Hour, 5*time.Hour)
	for range 3 {
		require.Empty(t, pass.admit(pass.options(10, 1)).Carriages)
	}
	pass.policy.Ceiling = 3
	batch := pass.admit(pass.options(10, 1))
	require.Equal(t, []work.ID{ids[1], ids[3], ids[0]}, carried(batch.Carriages))
	pass.policy.Ceiling = 4
	require.Equal(t, []work.ID{ids[4]}, carried(pass.admit(pass.options(10, 1)).Carriages))
	pass.policy.Ceiling = 5
	require.Equal(t, []work.ID{ids[2]}, carried(pass.admit(pass.options(10, 1)).Carriages))
}

// TestObservedWorkIsNotHiddenBehindABacklog: enforced works that wait fill no
// place of observed ones, which never wait.
func TestObservedWorkIsNotHiddenBehindABacklog(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	pass.submit("e", time.Hour, time.Hour, time.Hour, time.Hour, time.Hour)
	observed := pass.submit("o", 2*time.Hour, 0)
	batch := pass.admit(pass.options(3, 10))
	require.Equal(t, observed, carried(batch.Carriages))
	require.Equal(t, work.Tally{"e": 3}, batch.Deferred["quota_full"], "no more than the limit")
}

// TestClosingIsOneRule: the three statements that ask whether a deadline is
// closing answer as work.Closing does, over random deadlines and margins (G12).
func TestClosingIsOneRule(t *testing.T) {
	t.Parallel()
	pass := newPass(t, 0)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(2, seed))
		margin := []time.Duration{-time.Hour, 0, time.Second, 15 * time.Minute, 26 * time.Hour}[random.IntN(5)]
		pass.exec("DELETE FROM adjourn.work")
		base := pass.usage().Now.Add(max(0, margin))
		for range 60 {
			// Around the edge, from microseconds to days on either side.
			distance := time.Duration(random.NormFloat64() * float64(time.Microsecond) * float64(uint64(1)<<random.IntN(38)))
			pass.exec("SELECT adjourn.submit_work('e', 'p', $1)", base.Add(distance))
		}
		pass.exec("SELECT adjourn.submit_work('e', 'p')")
		all := passRead[work.ID](pass, "SELECT id FROM adjourn.work")

		options := pass.options(1000, 1)
		options.Margin = margin
		asking := options
		asking.IDs = all
		before := pass.usage().Now
		chosen, err := pass.store.find(t.Context(), options)
		require.NoError(t, err)
		asked, err := pass.store.find(t.Context(), asking)
		require.NoError(t, err)
		urgent := pass.overrideOptions()
		urgent.Margin, urgent.Limit = margin, 1000
		carriages, err := pass.store.ChooseOverrides(t.Context(), urgent)
		require.NoError(t, err)
		after := pass.usage().Now

		overridden := carried(carriages)
		for _, ref := range pass.refs() {
			closing, maybe := work.Closing(ref.Deadline, before, margin), work.Closing(ref.Deadline, after, margin)
			if closing != maybe {
				continue // it became closing while the statements ran
			}
			require.Equal(t, closing, slices.Contains(overridden, ref.ID), "override: seed %d, %v", seed, ref)
			require.Equal(t, !closing, containsWork(chosen, ref.ID), "chosen: seed %d, %v", seed, ref)
			require.Equal(t, !closing, containsWork(asked, ref.ID), "asked: seed %d, %v", seed, ref)
		}
	}
}

func containsWork(works found, id work.ID) bool {
	return slices.ContainsFunc(works.candidates, func(waits candidate) bool { return waits.ID == id })
}

// refs are all works that are not finished.
func (pass *pass) refs() []work.Ref {
	pass.t.Helper()
	rows, err := pass.pool.Query(pass.t.Context(), "SELECT id, flow, deadline FROM adjourn.work")
	require.NoError(pass.t, err)
	refs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (work.Ref, error) {
		var ref work.Ref
		var deadline *time.Time
		err := row.Scan(&ref.ID, &ref.Flow, &deadline)
		if deadline != nil {
			ref.Deadline = *deadline
		}
		return ref, err
	})
	require.NoError(pass.t, err)
	return refs
}
