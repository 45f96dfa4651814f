package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// TestBeginMarksTheWork: numbered, counted, in flight until its attempt is surely
// over, on the database's clock.
func TestBeginMarksTheWork(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.submit(work.Submission{Flow: "f", Payload: []byte("body"), Stream: "s", IdempotencyKey: "k"})
	lane.admit(work.Governed, "w", id)
	before := lane.get(id)
	asked := lane.now()
	begun := lane.begin(work.Governed, "w", id)
	require.Len(t, begun.Attempts, 1)
	attempt := begun.Attempts[0]
	require.WithinRange(t, attempt.BegunAt, asked, lane.now())
	require.Equal(t, work.Attempt{
		Work: work.Ref{ID: id, Flow: "f"}, Sequence: 1, Stream: "s", Number: 1, IdempotencyKey: "k",
		ContentType: "application/json", Payload: []byte("body"), BegunAt: attempt.BegunAt,
		SlotLeft: before.SlotStart.Add(laneWindow).Sub(attempt.BegunAt),
	}, attempt)
	want := before
	want.State, want.Number, want.Attempts = work.Attempting, 1, 1
	want.AttemptBegunAt, want.AttemptExpiresAt = attempt.BegunAt, attempt.BegunAt.Add(laneTimeout)
	require.Equal(t, want, lane.get(id))
	require.Empty(t, lane.attempts(id), "an attempt in flight is not on record yet")
}

// TestBeginAnswersEachWorkOnce: attempted, refused, busy or gone, never two of
// them, whatever state it is in and however often it is asked for.
func TestBeginAnswersEachWorkOnce(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 11)
	fresh, again, expired, busy, lost, pending := ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]
	elsewhere, otherLane, failed, cancelled, emitted := ids[6], ids[7], ids[8], ids[9], ids[10]
	lane.admit(work.Governed, "w", fresh, again, expired, busy, lost, failed, emitted)
	lane.admit(work.Governed, "another", elsewhere)
	lane.admit(work.Override, "w", otherLane)
	numbered := lane.begin(work.Governed, "w", again, busy, lost, failed, emitted)
	require.Len(t, numbered.Attempts, 5)
	for _, attempt := range numbered.Attempts {
		switch attempt.Work.ID {
		case again:
			lane.record(work.Governed, ending(attempt, work.OutcomeUnsent))
		case failed:
			lane.record(work.Governed, ending(attempt, work.OutcomeFailed))
		case emitted:
			lane.record(work.Governed, ending(attempt, work.OutcomeEmitted))
		}
	}
	lane.exec("UPDATE adjourn.work SET slot_start = slot_start - INTERVAL '24 h' WHERE id = $1", expired)
	lane.expire(lost)
	require.NoError(t, lane.store.Cancel(t.Context(), cancelled))
	unheardOf := work.ID(1 << 40)

	asked := slices.Concat(ids, ids, []work.ID{unheardOf})
	begun := lane.begin(work.Governed, "w", asked...)
	var attempted []work.ID
	for _, attempt := range begun.Attempts {
		attempted = append(attempted, attempt.Work.ID)
	}
	require.Equal(t, []work.ID{fresh, again}, attempted)
	require.Len(t, begun.Refused, 1)
	require.Equal(t, expired, begun.Refused[0].ID)
	busyIDs := []work.ID{}
	for _, inFlight := range begun.Busy {
		busyIDs = append(busyIDs, inFlight.ID)
	}
	require.Equal(t, []work.ID{busy, lost}, busyIDs, "a lost governed attempt needs another slot")
	require.Equal(t, []work.ID{pending, elsewhere, otherLane, failed, cancelled, emitted, unheardOf}, begun.Gone)
	require.Equal(t, lane.get(busy).AttemptExpiresAt, begun.Busy[0].Until)
}

// TestBeginOfNothing begins nothing.
func TestBeginOfNothing(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	require.Equal(t, work.Begun{}, lane.begin(work.Governed, "w"))
}

// TestSlotDiesWithItsWindow: refused with the guard time not left, the work waits
// again, unnumbered and unattempted (G1, G3); other lanes have no window.
func TestSlotDiesWithItsWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		left    time.Duration
		refused bool
	}{
		{"enough is left", laneGuard + 30*time.Second, false},
		{"less than the guard is left", laneGuard - time.Millisecond, true},
		{"nothing is left", 0, true},
		{"the window is long over", -48 * time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lane := newLane(t)
			ids := lane.works("f", 2)
			lane.admit(work.Governed, "w", ids...)
			lane.exec("UPDATE adjourn.work SET slot_start = clock_timestamp() - $1::INTERVAL", laneWindow-test.left)
			windowEnd := lane.get(ids[0]).SlotStart.Add(laneWindow)
			begun := lane.begin(work.Governed, "w", ids[0])
			if !test.refused {
				require.Len(t, begun.Attempts, 1)
				return
			}
			require.Equal(t, work.Begun{Refused: []work.Result{{
				ID: ids[0], Outcome: work.OutcomeDeferred, Reason: "slot_expired", RetryAt: windowEnd,
			}}}, begun)
			waits := lane.get(ids[0])
			require.Equal(t, work.Work{
				ID: ids[0], Flow: "f", Stream: "f", IdempotencyKey: waits.IdempotencyKey, State: work.Pending,
				Outcome: work.OutcomeDeferred, Reason: "slot_expired", CreatedAt: waits.CreatedAt,
			}, waits)
			require.Equal(t, work.Admitted, lane.get(ids[1]).State, "works not asked for are left alone")
			require.Empty(t, lane.dump("sequence")["sequence"], "no number is burnt")
		})
	}
}

// TestObservedWorkKeepsToItsWindowToo: its emission counts in the window it was
// admitted in.
func TestObservedWorkKeepsToItsWindowToo(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	ids := lane.works("f", 1)
	lane.admit(work.Governed, "w", ids...)
	lane.exec(`UPDATE adjourn.work SET admission = 'would_defer', enforced = FALSE,
	                  slot_start = slot_start - INTERVAL '24 h'`)
	require.Len(t, lane.begin(work.Governed, "w", ids...).Refused, 1)
}

func numbers(attempts []work.Attempt) []int64 {
	var all []int64
	for _, attempt := range attempts {
		all = append(all, attempt.Number)
	}
	return all
}

// TestLostAttemptIsTakenOver by the override and the exempt lane once it is surely
// over, not before, and not where the flow is never attempted twice; it is put on
// record as spent.
func TestLostAttemptIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, name := range []work.Lane{work.Override, work.Exempt} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			lane := newLane(t)
			id := lane.works("f", 1)[0]
			lost := lane.attempt(name, id)
			begun := lane.begin(name, "w", id)
			require.Equal(t, work.Begun{Busy: []work.Busy{
				{ID: id, Until: lost.BegunAt.Add(laneTimeout)},
			}}, begun)

			lane.expire(id)
			options := beginOptions(name, "w", id)
			options.NoRetry = true
			begun, err := lane.store.Begin(t.Context(), options)
			require.NoError(t, err)
			require.Len(t, begun.Busy, 1)
			require.Empty(t, begun.Attempts)

			begun = lane.begin(name, "w", id)
			require.Len(t, begun.Attempts, 1)
			again := begun.Attempts[0]
			require.Equal(t, 2, again.Sequence)
			require.Equal(t, lost.Number, again.Number, "the number is kept (G5)")
			require.Equal(t, lost.IdempotencyKey, again.IdempotencyKey)
			require.Equal(t, []work.Made{{
				Sequence: 1, Lane: name, Number: lost.Number, BegunAt: lost.BegunAt, EndedAt: again.BegunAt,
				Outcome: work.OutcomeSpent, Spent: true, Detail: "attempt_lost",
			}}, lane.attempts(id))
		})
	}
}

// TestPayloadThatIsGoneIsAnError, and nothing is called.
func TestPayloadThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	id := lane.works("f", 1)[0]
	lane.admit(work.Exempt, "w", id)
	lane.exec("DELETE FROM adjourn.work_payload")
	_, err := lane.store.Begin(t.Context(), beginOptions(work.Exempt, "w", id))
	require.ErrorContains(t, err, "work "+id.String()+" has no payload")
}

// TestLanesTakeFewRoundTrips: one statement that locks and one round trip each,
// never a transaction across round trips, in which a frozen process would hold the
// stream's row and with it every lane. Begin reads the payloads before.
func TestLanesTakeFewRoundTrips(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, trace := lane.traced(nil)
	ids := lane.works("f", 20)
	lane.admit(work.Governed, "w", ids...)
	roundTrips := func() int64 { return trace.statements.Swap(0) + trace.batches.Swap(0) }
	begun, err := store.Begin(t.Context(), beginOptions(work.Governed, "w", ids...))
	require.NoError(t, err)
	require.Len(t, begun.Attempts, 20)
	require.Equal(t, int64(2), roundTrips())
	var endings []work.Ending
	for i, attempt := range begun.Attempts {
		endings = append(endings, ending(attempt, work.Outcomes()[i%len(work.Outcomes())]))
	}
	recorded, err := store.Record(t.Context(), work.Governed, endings)
	require.NoError(t, err)
	require.Len(t, recorded, 20)
	require.Equal(t, int64(1), roundTrips())
	_, err = store.Release(t.Context(), work.ReleaseOptions{WorkflowID: "w", IDs: ids})
	require.NoError(t, err)
	require.Equal(t, int64(1), roundTrips())
}

// TestStuckLockIsAnErrorSoon: a store's pool gives up, and nothing was marked.
func TestStuckLockIsAnErrorSoon(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	store, _ := lane.traced(func(config *pgxpool.Config) {
		ConfigurePool(config, "adjourn-test")
		config.ConnConfig.RuntimeParams["lock_timeout"] = "50"
	})
	ids := lane.works("f", 2)
	lane.admit(work.Exempt, "w", ids...)
	lane.exec("INSERT INTO adjourn.sequence VALUES ('f', 7)")
	tx, err := lane.pool.Begin(t.Context())
	require.NoError(t, err)
	defer rollBack(t.Context(), tx)
	_, err = tx.Exec(t.Context(), "SELECT FROM adjourn.sequence FOR UPDATE")
	require.NoError(t, err)
	_, err = store.Begin(t.Context(), beginOptions(work.Exempt, "w", ids...))
	require.ErrorContains(t, err, "begin attempts: ")
	require.ErrorContains(t, err, "lock timeout")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, work.Admitted, lane.get(ids[0]).State)
	require.Equal(t, []int64{8, 9}, numbers(lane.begin(work.Exempt, "w", ids...).Attempts))
}
