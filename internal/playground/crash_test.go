package playground_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/devstack/thirdparty"
)

// TestKilledBetweenReservationAndAttempt: slots are reserved, then the process
// dies; another takes the works up, and nothing is counted less than it arrived
// (A37, A38, G1, G9).
func TestKilledBetweenReservationAndAttempt(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	stage.submit("invoice", 30, time.Time{})
	// Only passes run here: works are admitted and nobody attempts them.
	dispatcher := stage.process([]string{"--lanes", "dispatch"})
	stage.eventually("all are admitted", "SELECT count(*) = 30 FROM adjourn.work WHERE state = 'admitted'")
	dispatcher.kill()
	require.Empty(t, stage.Stack.ThirdParty.Arrivals())
	require.Equal(t, 30, stage.number("SELECT sum(count) FROM adjourn.quota_window"))

	stage.process(nil)
	arrivals := stage.arrivals("all thirty", func(arrivals []thirdparty.Arrival) bool { return effects(arrivals) == 30 })
	require.Len(t, arrivals, 30)
	stage.eventually("all are emitted", "SELECT count(*) = 30 FROM adjourn.work_archive WHERE state = 'emitted'")
	require.GreaterOrEqual(t, stage.number("SELECT sum(count) FROM adjourn.quota_window"), 30)
	stage.requireWitness()
}

// TestKilledBetweenAttemptAndRecord: the third party has the works, the process
// dies before it learns of it; they are attempted again under their numbers and
// keys, and take effect once (G5, G9).
func TestKilledBetweenAttemptAndRecord(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	require.NoError(t, stage.Stack.ThirdParty.Behave(thirdparty.Behaviour{
		Kind: thirdparty.KindHang, AcceptsAnyway: true,
	}))
	stage.submit("invoice", 5, time.Time{})
	dying := stage.process(nil, "EMISSION_TIMEOUT=5s")
	stage.arrivals("the five attempts", func(arrivals []thirdparty.Arrival) bool { return len(arrivals) == 5 })
	dying.kill()
	require.Equal(t, 5, stage.number("SELECT count(*) FROM adjourn.work WHERE state = 'attempting'"))
	stage.Stack.ThirdParty.Reset()

	stage.process(nil, "EMISSION_TIMEOUT=5s")
	stage.eventually("all are emitted", "SELECT count(*) = 5 FROM adjourn.work_archive WHERE state = 'emitted'")
	arrivals := stage.Stack.ThirdParty.Arrivals()
	require.Len(t, arrivals, 10)
	require.Equal(t, 5, effects(arrivals))
	require.Equal(t, 5, stage.number("SELECT last FROM adjourn.sequence WHERE stream = 'invoice'"), "no second number")
	require.Equal(t, 10, stage.number("SELECT sum(count) FROM adjourn.quota_window"), "a slot for each attempt")
	stage.requireWitness()
}

// TestTerminatedInTheMiddle: SIGTERM while attempts are under way lets them end
// and be recorded, begins no more, and exits with 0; another worker does the
// rest, and neither a slot nor an attempt was burnt.
func TestTerminatedInTheMiddle(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	require.NoError(t, stage.Stack.ThirdParty.Behave(thirdparty.Behaviour{Latency: 500 * time.Millisecond}))
	stage.submit("invoice", 90, time.Time{})
	first := stage.process(nil)
	stage.arrivals("an attempt", func(arrivals []thirdparty.Arrival) bool { return len(arrivals) > 0 })
	first.signal(syscall.SIGTERM)
	require.NoError(t, first.wait(), "exit status 0")
	require.Zero(t, stage.number("SELECT count(*) FROM adjourn.work WHERE state = 'attempting'"),
		"what was begun is recorded")
	arrived := len(stage.Stack.ThirdParty.Arrivals())
	require.Equal(t, arrived, stage.number("SELECT count(*) FROM adjourn.work_archive WHERE state = 'emitted'"))

	stage.process(nil)
	arrivals := stage.arrivals("all ninety", func(arrivals []thirdparty.Arrival) bool { return effects(arrivals) == 90 })
	require.Len(t, arrivals, 90, "no attempt was burnt")
	stage.eventually("all are emitted", "SELECT count(*) = 90 FROM adjourn.work_archive WHERE state = 'emitted'")
	require.Equal(t, 90, stage.number("SELECT sum(count) FROM adjourn.quota_window"), "no slot was burnt")
	stage.requireWitness()
}
