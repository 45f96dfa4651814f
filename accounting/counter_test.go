package accounting_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/adjourn/adjourn/accounting"
	"github.com/adjourn/adjourn/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store answers each write as told and keeps what it accepted.
type store struct {
	mu      sync.Mutex
	answer  func(call int) error // nil: accept
	hang    bool                 // until the context ends
	calls   int
	counted []work.Emission
}

func (store *store) CountEmissions(ctx context.Context, emissions []work.Emission) error {
	store.mu.Lock()
	defer store.mu.Unlock()
	store.calls++
	if store.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if store.answer != nil {
		if err := store.answer(store.calls); err != nil {
			return err
		}
	}
	store.counted = append(store.counted, emissions...)
	return nil
}

func (store *store) accepted() []work.Emission {
	store.mu.Lock()
	defer store.mu.Unlock()
	return store.counted
}

type meter struct {
	mu   sync.Mutex
	lost map[work.Lane]int
}

func (meter *meter) EmissionsLost(lane work.Lane, count int) {
	meter.mu.Lock()
	defer meter.mu.Unlock()
	if meter.lost == nil {
		meter.lost = map[work.Lane]int{}
	}
	meter.lost[lane] += count
}

func (meter *meter) by(lane work.Lane) int {
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return meter.lost[lane]
}

type bench struct {
	store   *store
	meter   *meter
	logs    *observer.ObservedLogs
	counter *accounting.Counter
}

func newBench(t *testing.T, store *store, options accounting.Options) *bench {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	meter := &meter{}
	counter := accounting.New(store, meter, zap.New(core), options)
	counter.Start(t.Context())
	return &bench{store: store, meter: meter, logs: logs, counter: counter}
}

var errStore = errors.New("store is down")

func emission(lane work.Lane, flow string) work.Emission {
	return work.Emission{Lane: lane, Flow: flow, At: time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)}
}

func within(t *testing.T, timeout time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	t.Cleanup(cancel)
	return ctx
}

// advance moves the bubble's clock and lets everything settle.
func advance(span time.Duration) {
	<-time.After(span)
	synctest.Wait()
}

// A48: counted after the fact, within one interval.
func TestCounter_WritesWithinAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, &store{}, accounting.Options{})
		bench.counter.Count(emission(work.Exempt, "ack"))
		bench.counter.Count(emission(work.Override, "invoice"))
		require.Empty(t, bench.store.accepted(), "written before the interval")

		advance(200 * time.Millisecond)
		require.Equal(t, []work.Emission{
			emission(work.Exempt, "ack"), emission(work.Override, "invoice"),
		}, bench.store.accepted())

		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Zero(t, bench.logs.Len())
	})
}

// A49, G6: a store that hangs delays nobody, and what finds no room is lost
// exactly.
func TestCounter_NeverBlocksAndCountsTheOverflowAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, &store{hang: true}, accounting.Options{PendingMax: 100, BatchMax: 30, Tries: 2})
		begun := time.Now()
		for range 40 {
			bench.counter.Count(emission(work.Exempt, "ack"))
		}
		advance(300 * time.Millisecond) // a batch of 30 hangs in the store and still has its place
		for range 65 {
			bench.counter.Count(emission(work.Override, "invoice"))
		}
		require.Equal(t, 300*time.Millisecond, time.Since(begun), "Count waited")
		require.Equal(t, 5, bench.meter.by(work.Override), "lost for want of room")
		require.Zero(t, bench.meter.by(work.Exempt))

		require.ErrorIs(t, bench.counter.Close(within(t, time.Second)), accounting.ErrNotFlushed)
		require.Equal(t, 40, bench.meter.by(work.Exempt))
		require.Equal(t, 65, bench.meter.by(work.Override))
		require.Empty(t, bench.store.accepted())
	})
}

// What was written gives its room back.
func TestCounter_RoomComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, &store{}, accounting.Options{PendingMax: 10, BatchMax: 4})
		for range 3 {
			for range 10 {
				bench.counter.Count(emission(work.Exempt, "ack"))
			}
			advance(200 * time.Millisecond)
		}
		require.Len(t, bench.store.accepted(), 30)
		require.Zero(t, bench.meter.by(work.Exempt))
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
	})
}

func TestCounter_RetriesAndThenCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store{answer: func(call int) error {
			if call < 3 {
				return errStore
			}
			return nil
		}}
		bench := newBench(t, store, accounting.Options{Tries: 3})
		bench.counter.Count(emission(work.Exempt, "ack"))
		advance(5 * time.Second)

		require.Equal(t, []work.Emission{emission(work.Exempt, "ack")}, store.accepted())
		require.Equal(t, 3, store.calls)
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Zero(t, bench.meter.by(work.Exempt))
		require.Zero(t, bench.logs.Len())
	})
}

func TestCounter_GivesUpAfterItsTriesAndSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store{answer: func(int) error { return errStore }}
		bench := newBench(t, store, accounting.Options{Tries: 3, BatchMax: 2})
		for range 3 {
			bench.counter.Count(emission(work.Exempt, "ack"))
		}
		bench.counter.Count(emission(work.Override, "invoice"))
		advance(time.Minute)

		require.Equal(t, 6, store.calls, "three tries for each of two batches")
		require.Equal(t, 3, bench.meter.by(work.Exempt))
		require.Equal(t, 1, bench.meter.by(work.Override))
		require.Equal(t, 1, bench.logs.Len(), "one line for the whole flush")
		fields := bench.logs.All()[0].ContextMap()
		require.EqualValues(t, 4, fields["lost"])
		require.Contains(t, fields["error"], errStore.Error())
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Equal(t, 1, bench.logs.Len(), "reported twice")
	})
}

func TestCounter_CloseWritesWhatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, &store{}, accounting.Options{Interval: time.Hour, BatchMax: 2})
		for range 5 {
			bench.counter.Count(emission(work.Override, "invoice"))
		}
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Len(t, bench.store.accepted(), 5)

		bench.counter.Count(emission(work.Override, "invoice"))
		require.Equal(t, 1, bench.meter.by(work.Override), "counted after Close")
		require.NoError(t, bench.counter.Close(within(t, time.Second)), "second call")
	})
}

// Close keeps its bound although the store never answers.
func TestCounter_CloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, &store{hang: true}, accounting.Options{WriteTimeout: time.Hour})
		bench.counter.Count(emission(work.Override, "invoice"))
		begun := time.Now()
		require.ErrorIs(t, bench.counter.Close(within(t, 3*time.Second)), accounting.ErrNotFlushed)
		require.Equal(t, 3*time.Second, time.Since(begun))
		require.Equal(t, 1, bench.meter.by(work.Override))
		require.Equal(t, 1, bench.logs.Len())
	})
}

// A hanging write is given up after its own time-out, not after the caller's.
func TestCounter_WriteHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store{hang: true}
		bench := newBench(t, store, accounting.Options{WriteTimeout: time.Second, Tries: 1})
		bench.counter.Count(emission(work.Exempt, "ack"))
		advance(1300 * time.Millisecond)
		require.Equal(t, 1, bench.meter.by(work.Exempt))
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
	})
}

// The report stays short however many flows there are.
func TestCounter_ReportNamesABoundedNumberOfFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store{answer: func(int) error { return errStore }}
		bench := newBench(t, store, accounting.Options{Tries: 1})
		for i := range 1000 {
			bench.counter.Count(emission(work.Exempt, "flow-"+time.Duration(i).String()))
		}
		advance(time.Second)
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Equal(t, 1, bench.logs.Len())
		fields := bench.logs.All()[0].ContextMap()
		require.EqualValues(t, 1000, fields["lost"])
		require.LessOrEqual(t, len(bench.logs.All()[0].Context), 3)
		require.Equal(t, 101, mapLength(t, fields["by_lane_and_flow"]))
	})
}

// Many callers at once: every emission ends counted, none twice.
func TestCounter_ConcurrentCallers(t *testing.T) {
	t.Parallel()
	store := &store{}
	counter := accounting.New(store, &meter{}, zap.NewNop(), accounting.Options{Interval: time.Millisecond, BatchMax: 7})
	counter.Start(t.Context())
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 1000 {
				counter.Count(emission(work.Exempt, "ack"))
			}
		})
	}
	callers.Wait()
	require.NoError(t, counter.Close(within(t, time.Minute)))
	require.Len(t, store.accepted(), 8000)
}

func mapLength(t *testing.T, value any) int {
	t.Helper()
	length := reflect.ValueOf(value)
	require.Equal(t, reflect.Map, length.Kind())
	return length.Len()
}

// What arrives while the last flush is under way is written too.
func TestCounter_CloseWritesWhatArrivesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store{}
		bench := newBench(t, store, accounting.Options{Interval: time.Hour})
		store.answer = func(call int) error {
			if call == 1 {
				bench.counter.Count(emission(work.Exempt, "ack"))
			}
			return nil
		}
		bench.counter.Count(emission(work.Override, "invoice"))
		require.NoError(t, bench.counter.Close(within(t, time.Second)))
		require.Len(t, store.accepted(), 2)
	})
}
