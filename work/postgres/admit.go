package postgres

import (
	"context"
	"errors"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

// ArbiterError is an admission that could not be decided: the arbiter is in
// error, which is not a refusal.
type ArbiterError struct {
	// Err is what went wrong.
	Err error
}

// Error says what went wrong.
func (err *ArbiterError) Error() string { return "ask the arbiter: " + err.Err.Error() }

// Unwrap returns what went wrong.
func (err *ArbiterError) Unwrap() error { return err.Err }

// admitTriesMax bounds how often an admission begins anew because room appeared
// while it was under way; the last try takes what it gets.
const admitTriesMax = 3

// errRoomAppeared: more slots were granted than the works were chosen for.
var errRoomAppeared = errors.New("room appeared")

// Admit reserves slots for governed works in dispatch order and marks the works
// that got one, in one transaction: after a crash both are there or neither. The
// store's pool should be the arbiter's.
//
// It reads the window first, without a lock. Only works that may go are locked,
// then the window's row, and the figures last. A full window costs reading at
// most limit works of each flow, and a row for each work deferred for the first
// time in this window.
//
// Every error is an [*ArbiterError]. One that comes with carriages came after the
// commit: those works are admitted, only the record of the refused ones is
// missing.
func (store *Store) Admit(ctx context.Context, options AdmitOptions) (work.AdmissionBatch, error) {
	for try := 1; ; try++ {
		batch, err := store.admit(ctx, options, try == admitTriesMax)
		switch {
		case errors.Is(err, errRoomAppeared):
		case err != nil:
			return batch, &ArbiterError{Err: err}
		default:
			return batch, nil
		}
	}
}

// admit is one try. Unless it is the last, it fails with errRoomAppeared when an
// enforced work was passed over that would have got a slot.
func (store *Store) admit(
	ctx context.Context, options AdmitOptions, last bool,
) (work.AdmissionBatch, error) {
	usage, err := options.Register.Usage(ctx, store.pool)
	if err != nil {
		return work.AdmissionBatch{}, err
	}
	works, err := store.find(ctx, options)
	if err != nil {
		return work.AdmissionBatch{}, err
	}
	batch := newBatch(works)
	expected := quota.Decide(usage, options.Policy.Ceiling, max(1, len(works.candidates)))
	candidates := shareOut(works.candidates, expected.Slots, options.Policy.UndatedShare)
	mayGo, refused := consider(candidates, expected.Slots, options.limit(), usage.Held())
	batch.Chosen = len(mayGo) + len(refused)
	answer := expected
	if len(mayGo) > 0 {
		room := expected.Slots
		if last || len(refused) == 0 {
			room = len(mayGo)
		}
		admission, err := store.reserveAndMark(ctx, options, mayGo, room)
		if err != nil {
			return work.AdmissionBatch{}, err
		}
		batch.Granted = tallyOf(admission.going, work.Granted)
		batch.WouldDefer = tallyOf(admission.going, work.WouldDefer)
		batch.Carriages = append(batch.Carriages, admission.carriages...)
		if len(admission.refused) > 0 {
			answer, refused = admission.grant, append(refused, admission.refused...)
		}
	}
	why := deferral{windowStart: answer.Window.Start, reason: answer.Reason, retryAt: answer.RetryAt}
	if len(options.IDs) > 0 {
		batch.Refused = append(batch.Refused, why.results(refused)...)
	}
	batch.Deferred, err = store.recordDeferrals(ctx, deferSQL, refused, why)
	return batch, err
}
