package accounting

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/adjourn/adjourn/work"
)

// Store writes emissions into the window each of them left in, all or none.
// CountEmissions must return soon after its context ends.
type Store interface {
	CountEmissions(ctx context.Context, emissions []work.Emission) error
}

// Meter is told what could not be counted. It must not block.
type Meter interface {
	EmissionsLost(lane work.Lane, count int)
}

// Options of a [Counter]; zero fields take the default.
type Options struct {
	// Interval between two flushes; default 200 ms.
	Interval time.Duration
	// WriteTimeout of one write to the store; default 2 s.
	WriteTimeout time.Duration
	// Tries of one batch before it is lost; default 5.
	Tries int
	// Backoff between tries; default 200 ms, at most 5 s.
	Backoff work.Backoff
	// PendingMax bounds the emissions in memory, those being written included;
	// beyond it they are lost. Default 100,000.
	PendingMax int
	// BatchMax bounds the emissions of one write; default 5,000.
	BatchMax int
}

func (options Options) withDefaults() Options {
	setDefault(&options.Interval, 200*time.Millisecond)
	setDefault(&options.WriteTimeout, 2*time.Second)
	setDefault(&options.Tries, 5)
	setDefault(&options.Backoff.Base, 200*time.Millisecond)
	setDefault(&options.Backoff.Max, 5*time.Second)
	setDefault(&options.PendingMax, 100_000)
	setDefault(&options.BatchMax, 5_000)
	return options
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Counter gathers emissions and writes them in batches from one goroutine.
// Create it with [New], call Start once and Close once everything that counts
// has stopped. Safe for concurrent use.
type Counter struct {
	store   Store
	meter   Meter
	logger  *zap.Logger
	options Options

	mu      sync.Mutex
	pending []work.Emission
	writing int  // emissions of the batch in flight
	lost    loss // since the last report
	closed  bool

	cancel    context.CancelFunc
	closing   chan struct{}
	done      chan struct{}
	closeOnce sync.Once
}

// New returns a counter that is not yet running: it accepts emissions and keeps
// them until Start.
func New(store Store, meter Meter, logger *zap.Logger, options Options) *Counter {
	return &Counter{
		store: store, meter: meter, logger: logger, options: options.withDefaults(),
		lost: loss{}, closing: make(chan struct{}), done: make(chan struct{}),
	}
}

// Count takes note of one emission. It never blocks and never fails: without
// room, or after Close, the emission is counted as lost.
func (counter *Counter) Count(emission work.Emission) {
	counter.mu.Lock()
	room := !counter.closed && len(counter.pending)+counter.writing < counter.options.PendingMax
	if room {
		counter.pending = append(counter.pending, emission)
	} else {
		counter.lost.add(emission)
	}
	counter.mu.Unlock()
	if !room {
		counter.meter.EmissionsLost(emission.Lane, 1)
	}
}

// Start begins to flush in a goroutine that Close stops. It keeps ctx's values;
// its end stops nothing, so that emissions are counted until Close.
func (counter *Counter) Start(ctx context.Context) {
	ctx, counter.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go counter.run(ctx)
}

// ErrNotFlushed tells that Close's context ended before everything was written.
var ErrNotFlushed = errors.New("the last emissions were not all counted in time")

// Close writes what is pending, until ctx ends; the rest is lost and reported.
// Emissions counted after it are lost. A second call waits for the first. Only
// after Start.
func (counter *Counter) Close(ctx context.Context) error {
	counter.closeOnce.Do(func() { close(counter.closing) })
	defer counter.cancel()
	select {
	case <-counter.done:
		return nil
	case <-ctx.Done():
	}
	counter.cancel()
	<-counter.done
	return ErrNotFlushed
}

func (counter *Counter) run(ctx context.Context) {
	defer close(counter.done)
	ticker := time.NewTicker(counter.options.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			counter.flush(ctx)
		case <-counter.closing:
			counter.flush(ctx)
			counter.mu.Lock()
			counter.closed = true
			counter.mu.Unlock()
			counter.flush(ctx) // what arrived during the last but one
			return
		}
	}
}

// flush writes what is pending, batch by batch, and reports what was lost since
// the last report in one line.
func (counter *Counter) flush(ctx context.Context) {
	var cause error
	counter.mu.Lock()
	left := len(counter.pending) // what arrives meanwhile waits for the next flush
	counter.mu.Unlock()
	for left > 0 {
		batch := counter.take(left)
		left -= len(batch)
		if err := counter.write(ctx, batch); err != nil {
			counter.abandon(batch)
			cause = err
		}
		counter.mu.Lock()
		counter.writing = 0
		counter.mu.Unlock()
	}
	counter.report(cause)
}

func (counter *Counter) take(limit int) []work.Emission {
	counter.mu.Lock()
	defer counter.mu.Unlock()
	size := min(limit, counter.options.BatchMax)
	batch := counter.pending[:size:size]
	counter.pending = counter.pending[size:]
	if len(counter.pending) == 0 {
		counter.pending = nil // or the written ones would stay in memory
	}
	counter.writing = size
	return batch
}

// write tries until the batch is written, the tries are used up, or ctx ends.
func (counter *Counter) write(ctx context.Context, batch []work.Emission) error {
	for try := 1; ; try++ {
		err := counter.writeOnce(ctx, batch)
		if err == nil {
			return nil
		}
		if try >= counter.options.Tries || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(counter.options.Backoff.Delay(try, rand.Float64())):
		case <-ctx.Done():
			return err
		}
	}
}

func (counter *Counter) writeOnce(ctx context.Context, batch []work.Emission) error {
	ctx, cancel := context.WithTimeout(ctx, counter.options.WriteTimeout)
	defer cancel()
	return counter.store.CountEmissions(ctx, batch)
}

func (counter *Counter) abandon(batch []work.Emission) {
	byLane := map[work.Lane]int{}
	counter.mu.Lock()
	for _, emission := range batch {
		counter.lost.add(emission)
		byLane[emission.Lane]++
	}
	counter.mu.Unlock()
	for lane, count := range byLane {
		counter.meter.EmissionsLost(lane, count)
	}
}

func (counter *Counter) report(cause error) {
	counter.mu.Lock()
	lost := counter.lost
	counter.lost = loss{}
	counter.mu.Unlock()
	if len(lost) == 0 {
		return
	}
	counter.logger.Error("emissions not counted in their window: governed work may see more room than there is",
		zap.Int("lost", lost.total()), zap.Any("by_lane_and_flow", lost), zap.Error(cause))
}
