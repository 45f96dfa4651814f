package lanetest

import (
	"context"
	"sync/atomic"

	"github.com/adjourn/adjourn/work"
)

// Recorder is a real one that can be made to fail or to wait.
type Recorder struct {
	work.Recorder
	// BeforeBegin and BeforeRecord run before the real thing, if set; an error is
	// returned instead of asking it.
	BeforeBegin  func(ctx context.Context, options work.BeginOptions) error
	BeforeRecord func(ctx context.Context, endings []work.Ending) error
	// Begins and Records count the statements.
	Begins, Records atomic.Int64
}

// Begin as the real one.
func (recorder *Recorder) Begin(ctx context.Context, options work.BeginOptions) (work.Begun, error) {
	recorder.Begins.Add(1)
	if recorder.BeforeBegin != nil {
		if err := recorder.BeforeBegin(ctx, options); err != nil {
			return work.Begun{}, err
		}
	}
	return recorder.Recorder.Begin(ctx, options)
}

// Record as the real one.
func (recorder *Recorder) Record(ctx context.Context, lane work.Lane, endings []work.Ending) ([]work.ID, error) {
	recorder.Records.Add(1)
	if recorder.BeforeRecord != nil {
		if err := recorder.BeforeRecord(ctx, endings); err != nil {
			return nil, err
		}
	}
	return recorder.Recorder.Record(ctx, lane, endings)
}
