package postgres

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/adjourn/adjourn/quota"
)

// queueMax bounds the calls that wait for the statement in flight, and those that
// one statement serves. A caller that finds the queue full waits for a place in
// it, as long as its context allows.
const queueMax = 4096

// reserveFunc is one statement.
type reserveFunc func(ctx context.Context, ceiling int32, slots int) (quota.Grant, error)

// combiner turns the concurrent reservations of one process into one statement in
// flight: while it runs, others queue, and the next one asks for all of them
// together. The row of the window is hot; what counts is slots per statement. A
// window known to be full needs no statement at all.
//
// One goroutine runs the statements, from newCombiner to close. Callers wait on
// their own context: one that gives up after its share was granted leaves its
// slots counted and unused.
type combiner struct {
	reserve reserveFunc
	timeout time.Duration
	full    knownFull
	started time.Time // what [instant.elapsed] counts from

	queue   chan *call
	closing chan struct{}
	ended   chan struct{}
	once    sync.Once
}

// call is one caller's reservation.
type call struct {
	ctx     context.Context // the caller's, to learn that it gave up
	ceiling int32
	slots   int
	answer  chan answer // of capacity 1: answering never waits for the caller
}

type answer struct {
	grant quota.Grant
	err   error
}

func newCombiner(reserve reserveFunc, timeout time.Duration) *combiner {
	combiner := &combiner{
		reserve: reserve,
		timeout: timeout,
		started: time.Now(),
		queue:   make(chan *call, queueMax),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	go combiner.run()
	return combiner
}

// close lets the statement in flight end, answers those who wait with
// [ErrArbiterClosed], and waits for the goroutine.
func (combiner *combiner) close() {
	combiner.once.Do(func() { close(combiner.closing) })
	<-combiner.ended
}

// Reserve answers a refusal that is already known, or queues and waits.
func (combiner *combiner) Reserve(ctx context.Context, ceiling int32, slots int) (quota.Grant, error) {
	if err := ctx.Err(); err != nil {
		return quota.Grant{}, err
	}
	if grant, known := combiner.full.refuse(combiner.now(), ceiling, slots); known {
		return grant, nil
	}
	one := &call{ctx: ctx, ceiling: ceiling, slots: slots, answer: make(chan answer, 1)}
	select {
	case combiner.queue <- one:
	case <-ctx.Done():
		return quota.Grant{}, ctx.Err()
	case <-combiner.closing:
		return quota.Grant{}, ErrArbiterClosed
	}
	select {
	case answered := <-one.answer:
		return answered.grant, answered.err
	case <-ctx.Done():
		return one.answeredOr(ctx.Err())
	case <-combiner.ended:
		return one.answeredOr(ErrArbiterClosed)
	}
}

// answeredOr prefers an answer that is already there, so that its slots are not
// wasted.
func (one *call) answeredOr(err error) (quota.Grant, error) {
	select {
	case answered := <-one.answer:
		return answered.grant, answered.err
	default:
		return quota.Grant{}, err
	}
}

func (combiner *combiner) run() {
	defer close(combiner.ended)
	for {
		select {
		case <-combiner.closing:
			return
		default:
		}
		select {
		case <-combiner.closing:
			return
		case first := <-combiner.queue:
			combiner.serve(combiner.drain(first))
		}
	}
}

// drain takes what waits, in the order of arrival.
func (combiner *combiner) drain(first *call) []*call {
	waiting := []*call{first}
	for len(waiting) < queueMax {
		select {
		case next := <-combiner.queue:
			waiting = append(waiting, next)
		default:
			return waiting
		}
	}
	return waiting
}

// serve runs one statement per ceiling, which is one but for the moment in which
// the operator changes it.
func (combiner *combiner) serve(waiting []*call) {
	for len(waiting) > 0 {
		var together, others []*call
		for _, one := range waiting {
			switch {
			case one.ctx.Err() != nil: // gave up before anything was taken for it
			case len(together) == 0 || one.ceiling == together[0].ceiling:
				together = append(together, one)
			default:
				others = append(others, one)
			}
		}
		if len(together) > 0 {
			combiner.ask(together)
		}
		waiting = others
	}
}

// ask runs one statement for all and hands out what it granted. It runs on no
// caller's time: one that gives up must not take the others' answer with it.
func (combiner *combiner) ask(together []*call) {
	slots := 0
	for _, one := range together {
		slots += one.wanted()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(together[0].ctx), combiner.timeout)
	defer cancel()
	asked := combiner.now()
	grant, err := combiner.reserve(ctx, together[0].ceiling, slots)
	if err != nil {
		for _, one := range together {
			one.answer <- answer{err: err}
		}
		return
	}
	combiner.full.learn(asked, grant)
	for i, part := range share(grant, together) {
		together[i].answer <- answer{grant: part}
	}
}

// now reads both of this process's clocks.
func (combiner *combiner) now() instant {
	now := time.Now()
	return instant{wall: now.Round(0), elapsed: now.Sub(combiner.started)}
}

// wanted is at most the highest ceiling there is, so that no sum overflows.
func (one *call) wanted() int { return min(max(0, one.slots), math.MaxInt32) }

// share hands a grant out in the order of arrival. Each part's count is what the
// window held after it, as if the calls had followed each other.
func share(grant quota.Grant, together []*call) []quota.Grant {
	left, count := grant.Slots, grant.Count-grant.Slots
	parts := make([]quota.Grant, len(together))
	for i, one := range together {
		part := grant
		part.Slots = min(one.wanted(), left)
		left -= part.Slots
		count += part.Slots
		part.Count = count
		if part.Slots >= one.slots {
			part.Reason, part.RetryAt = "", time.Time{}
		}
		parts[i] = part
	}
	return parts
}
