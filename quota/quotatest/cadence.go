package quotatest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// MemoryCadence is a cadence in memory, booking by [quota.CadenceRate.Book]. Safe
// for concurrent use.
type MemoryCadence struct {
	rate   quota.CadenceRate
	window time.Duration
	now    func() time.Time

	mutex  sync.Mutex
	next   time.Time
	broken error
}

var _ quota.Cadence = (*MemoryCadence)(nil)

// NewMemoryCadence keeps rate in windows of the given length, by the clock now.
func NewMemoryCadence(rate quota.CadenceRate, window time.Duration, now func() time.Time) *MemoryCadence {
	return &MemoryCadence{rate: rate, window: window, now: now}
}

// Break makes every call fail with err until it is called with nil.
func (cadence *MemoryCadence) Break(err error) {
	cadence.mutex.Lock()
	defer cadence.mutex.Unlock()
	cadence.broken = err
}

// Schedule implements [quota.Cadence].
func (cadence *MemoryCadence) Schedule(ctx context.Context, n int) (distances []time.Duration, err error) {
	cadence.mutex.Lock()
	defer cadence.mutex.Unlock()
	if cadence.broken != nil {
		return nil, cadence.broken
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := cadence.now()
	end := quota.WindowAt(now, cadence.window).End()
	distances, cadence.next = cadence.rate.Book(now, cadence.next, end, n)
	return distances, nil
}

// CadenceFactory makes a fresh cadence, nothing promised, with half a minute of a
// daily window left, released by the test's own clean-up; advance moves its clock,
// and is nil when that is real.
type CadenceFactory func(
	t *testing.T, rate quota.CadenceRate, window time.Duration,
) (cadence quota.Cadence, advance func(time.Duration))

// CadenceConformance is the one suite that every [quota.Cadence] passes.
func CadenceConformance(t *testing.T, factory CadenceFactory) {
	t.Helper()
	for name, rule := range map[string]func(*testing.T, CadenceFactory){
		"SpacesInstants":             spacesInstants,
		"BurstsAfterAQuietTime":      burstsAfterAQuietTime,
		"OffSpacesNothing":           offSpacesNothing,
		"NothingAskedNothingBooked":  nothingAskedNothingBooked,
		"ConcurrentCallersNeverMeet": concurrentCallersNeverMeet,
		"NextWindowBeginsFree":       nextWindowBeginsFree,
		"CancelledCallerGetsAnError": cancelledCallerGetsAnError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, factory)
		})
	}
}

// each is the interval of the suite's rate, one per second.
const each = time.Second

func onePerSecond(burst int) quota.CadenceRate { return quota.CadenceRate{PerSecond: 1, Burst: burst} }

func schedule(t *testing.T, cadence quota.Cadence, n int) []time.Duration {
	t.Helper()
	distances, err := cadence.Schedule(t.Context(), n)
	require.NoError(t, err)
	require.Len(t, distances, max(0, n))
	require.True(t, slices.IsSorted(distances))
	return distances
}

// stopwatch measures how far a real clock went on during a test. It decides
// nothing but a tolerance.
type stopwatch time.Time

func startStopwatch() stopwatch { return stopwatch(time.Now()) }

// requireDistance allows for what the clock went on since the first call.
func (started stopwatch) requireDistance(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.LessOrEqual(t, got, want)
	require.GreaterOrEqual(t, got, max(0, want-time.Since(time.Time(started))))
}

// spacesInstants exactly within one call, and on from where the last one ended.
func spacesInstants(t *testing.T, factory CadenceFactory) {
	cadence, _ := factory(t, onePerSecond(1), quota.Day)
	started := startStopwatch()
	require.Equal(t, []time.Duration{0, each, 2 * each}, schedule(t, cadence, 3))
	second := schedule(t, cadence, 2)
	started.requireDistance(t, 3*each, second[0])
	started.requireDistance(t, 4*each, second[1])
}

func burstsAfterAQuietTime(t *testing.T, factory CadenceFactory) {
	cadence, advance := factory(t, onePerSecond(3), quota.Day)
	require.Equal(t, []time.Duration{0, 0, 0, each, 2 * each}, schedule(t, cadence, 5))
	if advance != nil {
		advance(4 * each) // one behind: half of the burst is earned again
		require.Equal(t, []time.Duration{0, 0, each}, schedule(t, cadence, 3))
		advance(time.Hour)
		require.Equal(t, []time.Duration{0, 0, 0, each}, schedule(t, cadence, 4))
	}
}

func offSpacesNothing(t *testing.T, factory CadenceFactory) {
	cadence, _ := factory(t, quota.CadenceRate{Burst: 3}, quota.Day)
	for range 3 {
		require.Equal(t, make([]time.Duration, 100), schedule(t, cadence, 100))
	}
}

func nothingAskedNothingBooked(t *testing.T, factory CadenceFactory) {
	cadence, _ := factory(t, onePerSecond(1), quota.Day)
	for _, n := range []int{0, -1} {
		require.Empty(t, schedule(t, cadence, n))
	}
	require.Equal(t, []time.Duration{0}, schedule(t, cadence, 1))
}

// concurrentCallersNeverMeet: callers at once share one schedule, each instant
// promised to one of them.
func concurrentCallersNeverMeet(t *testing.T, factory CadenceFactory) {
	const callers = 8
	cadence, _ := factory(t, onePerSecond(1), quota.Day)
	started := startStopwatch()
	all, errs := make([][]time.Duration, callers), make([]error, callers)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() { all[caller], errs[caller] = cadence.Schedule(t.Context(), 1+caller%2) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	together := slices.Concat(all...)
	slices.Sort(together)
	for i, distance := range together {
		started.requireDistance(t, time.Duration(i)*each, distance)
	}
}

// nextWindowBeginsFree, however much was asked of the one before.
func nextWindowBeginsFree(t *testing.T, factory CadenceFactory) {
	cadence, advance := factory(t, onePerSecond(1), turning)
	require.Zero(t, schedule(t, cadence, 1000)[0])
	if advance != nil {
		require.Positive(t, schedule(t, cadence, 1)[0])
		advance(turning)
	}
	eventually(t, "the next window's first instant is now", func() bool {
		return schedule(t, cadence, 1000)[0] == 0
	})
}

func cancelledCallerGetsAnError(t *testing.T, factory CadenceFactory) {
	cadence, _ := factory(t, onePerSecond(1), quota.Day)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cadence.Schedule(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}
