package attempt_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/work"
)

// TestEndingsAreRecordedTogether: what ends while a statement is under way goes
// into the next one.
func TestEndingsAreRecordedTogether(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(20)
	allEnded := make(chan struct{})
	bench.recorder.BeforeRecord = func(context.Context, []work.Ending) error {
		<-allEnded
		return nil
	}
	run := bench.engine.Open(t.Context(), load(carriage))
	require.NoError(t, run.Begin(t.Context(), lanetest.IDs(carriage.Works)))
	lanetest.Await(t, func() bool {
		return bench.meter.Counts()["attempted invoice governed emitted"] == 20
	}, "twenty attempts")
	close(allEnded)
	require.Len(t, run.Close().Results, 20)
	require.Equal(t, int64(1), bench.recorder.Begins.Load())
	require.LessOrEqual(t, bench.recorder.Records.Load(), int64(5))
}

var errDown = errors.New("down")

// TestRecordingIsTriedAgain: the effect has happened, so its ending is written as
// soon as the register can be asked (G9).
func TestRecordingIsTriedAgain(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	carriage := bench.Governed(3)
	bench.recorder.BeforeRecord = func(context.Context, []work.Ending) error {
		if bench.recorder.Records.Load() <= 4 {
			return errDown
		}
		return nil
	}
	report := bench.do(t, carriage)
	require.Len(t, report.Results, 3)
	for _, result := range report.Results {
		require.Equal(t, work.OutcomeEmitted, result.Outcome)
		require.Equal(t, work.Emitted, bench.Row(result.ID).State)
	}
	require.Len(t, bench.party.Messages(), 3, "one call each, whatever the register does")
}

// TestOneEndingThatCannotBeWrittenKeepsNoOther: it is given up after its time,
// the others are recorded, and it is reported as the register will take it.
func TestOneEndingThatCannotBeWrittenKeepsNoOther(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.engine.Options.RecordFor = 300 * time.Millisecond
	carriage := bench.Governed(5)
	poison := carriage.Works[2].ID
	bench.recorder.BeforeRecord = func(_ context.Context, endings []work.Ending) error {
		if slices.ContainsFunc(endings, func(ending work.Ending) bool { return ending.ID == poison }) {
			return errDown
		}
		return nil
	}
	report := bench.do(t, carriage)
	require.Len(t, report.Results, 5)
	for _, result := range report.Results {
		if result.ID != poison {
			require.Equal(t, work.Emitted, bench.Row(result.ID).State)
			continue
		}
		require.Equal(t, work.OutcomeSpent, result.Outcome)
		require.Equal(t, "not_recorded", result.Reason)
		require.Equal(t, work.Attempting, bench.Row(poison).State)
	}
	require.Equal(t, 1, bench.meter.Counts()["unrecorded governed"])
}
