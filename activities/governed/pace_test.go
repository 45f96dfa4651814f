package governed_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

func (bench *bench) pace(rate quota.CadenceRate) {
	bench.activities.Pace = governed.NewPace(
		quotapostgres.NewCadence(bench.Pool, quotapostgres.Options{Window: lanetest.Window}, rate), rate)
}

// TestNoRateIsNoPace: the cadence is off unless set.
func TestNoRateIsNoPace(t *testing.T) {
	t.Parallel()
	require.Nil(t, governed.NewPace(nil, quota.CadenceRate{}))
}

// TestCadenceSpreadsAttempts: none starts before its instant, the most urgent
// first (A61, G4).
func TestCadenceSpreadsAttempts(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(4)
	var mu sync.Mutex
	var left []time.Time
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, time.Now())
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	bench.pace(quota.CadenceRate{PerSecond: 5, Burst: 1})
	reversed := work.Carriage{WorkflowID: carriage.WorkflowID, SlotStart: carriage.SlotStart}
	for _, ref := range carriage.Works {
		reversed.Works = append([]work.Ref{ref}, reversed.Works...)
	}
	begun := time.Now()
	require.Len(t, bench.emit(t, reversed).Results, 4)
	require.GreaterOrEqual(t, time.Since(begun), 600*time.Millisecond)
	for i, message := range bench.party.Messages() {
		require.Equal(t, int64(carriage.Works[i].ID), message.WorkID)
		require.GreaterOrEqual(t, left[i].Sub(begun), time.Duration(i)*200*time.Millisecond)
	}
}

// TestABurstBeginsTogether: works that are due together are one statement.
func TestABurstBeginsTogether(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(10)
	bench.pace(quota.CadenceRate{PerSecond: 1, Burst: 10})
	require.Len(t, bench.emit(t, carriage).Results, 10)
	require.Equal(t, int64(1), bench.recorder.Begins.Load())
}

// TestInstantsPastTheWindowGoBack: to pending at once, without a number, as
// deferred by the cadence; the others are emitted.
func TestInstantsPastTheWindowGoBack(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(3)
	bench.pace(quota.CadenceRate{PerSecond: 1.0 / 3600, Burst: 1})
	// Half an hour of the works' window is left.
	carriage.SlotStart = bench.endWindowIn(t, 30*time.Minute)
	output := bench.emit(t, carriage)
	require.Equal(t, []string{"", "cadence", "cadence"}, reasons(output.Results))
	require.Equal(t, []work.State{work.Emitted, work.Pending, work.Pending}, bench.States(carriage.Works))
	require.Equal(t, 2, bench.meter.Counts()["deferred invoice cadence"])
	require.Len(t, bench.party.Messages(), 1)
}

// TestAWindowThatIsOverNeedsNoWait: the works go back as expired.
func TestAWindowThatIsOverNeedsNoWait(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(2)
	bench.pace(quota.CadenceRate{PerSecond: 100, Burst: 1})
	carriage.SlotStart = bench.endWindowIn(t, -time.Minute)
	output := bench.emit(t, carriage)
	require.Equal(t, []string{"slot_expired", "slot_expired"}, reasons(output.Results))
	require.Equal(t, []work.State{work.Pending, work.Pending}, bench.States(carriage.Works))
	require.Empty(t, bench.party.Messages())
}

// endWindowIn moves the works' window so that it ends in left.
func (bench *bench) endWindowIn(t *testing.T, left time.Duration) (slotStart time.Time) {
	t.Helper()
	require.NoError(t, bench.Pool.QueryRow(t.Context(),
		`UPDATE adjourn.work SET slot_start = now() + $1::INTERVAL - $2::INTERVAL RETURNING slot_start`,
		left, lanetest.Window).Scan(&slotStart))
	return slotStart
}

// TestACadenceInErrorIsKeptLocally: at the same rate, by this process.
func TestACadenceInErrorIsKeptLocally(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(4)
	bench.Exec(`DROP TABLE adjourn.quota_cadence`)
	bench.pace(quota.CadenceRate{PerSecond: 5, Burst: 2})
	begun := time.Now()
	require.Len(t, bench.emit(t, carriage).Results, 4)
	require.GreaterOrEqual(t, time.Since(begun), 400*time.Millisecond, "two at once, then one each 200 ms")
	require.Len(t, bench.party.Messages(), 4)
	require.Equal(t, 1, bench.meter.Counts()["cadence failed"])
}

// TestAStoppingWorkerLeavesWaitingWorks: what is under way is recorded, what
// waits for its instant keeps its slot for another worker.
func TestAStoppingWorkerLeavesWaitingWorks(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(3)
	bench.pace(quota.CadenceRate{PerSecond: 0.01, Burst: 1})
	stopping := make(chan struct{})
	bench.environment.SetWorkerStopChannel(stopping)
	bench.party.Answer = func(context.Context, emitter.Message) emitter.Outcome {
		close(stopping)
		return emitter.Outcome{Verdict: emitter.Emitted}
	}
	output := bench.emit(t, carriage)
	require.Equal(t, []string{"", "worker_stopping", "worker_stopping"}, reasons(output.Results))
	require.Equal(t, []work.State{work.Emitted, work.Admitted, work.Admitted}, bench.States(carriage.Works))
}
