package attempt

import (
	"context"
	"slices"
	"time"

	"github.com/adjourn/adjourn/work"
)

// What spaces the tries of endings that could not be written; the shortest keeps
// an unlucky jitter from turning the tries into a storm.
const (
	recordPauseShortest = 20 * time.Millisecond
	recordPauseBase     = 100 * time.Millisecond
	recordPauseMax      = 2 * time.Second
)

// recordAll writes endings as they come, all that are there in one statement,
// until the channel closes and none is left.
func (run *Run) recordAll() {
	defer close(run.recorded)
	var waiting []made
	failures := 0
	for {
		fresh, open := run.take(len(waiting) > 0, failures)
		waiting = append(waiting, fresh...)
		if len(waiting) == 0 && !open {
			return
		}
		waiting = run.write(waiting, failures > 0)
		if failures++; len(waiting) == 0 {
			failures = 0
		}
	}
}

// take returns the endings that are there. With some waiting for another try it
// first lets the back-off pass, else it blocks until there is one. It reports
// whether more may come.
func (run *Run) take(waiting bool, failures int) (taken []made, open bool) {
	if waiting {
		backoff := work.Backoff{Base: recordPauseBase, Max: recordPauseMax}
		pause := time.NewTimer(max(recordPauseShortest, backoff.Delay(failures, run.engine.Random())))
		<-pause.C
	} else {
		first, open := <-run.endings
		if !open {
			return nil, false
		}
		taken = append(taken, first)
	}
	for {
		select {
		case next, open := <-run.endings:
			if !open {
				return taken, false
			}
			taken = append(taken, next)
		default:
			return taken, true
		}
	}
}

// write records endings and returns those to try again. After a failure each is
// written alone, so that one ending the register cannot take keeps no other from
// being written.
func (run *Run) write(endings []made, alone bool) []made {
	size := max(1, len(endings))
	if alone {
		size = 1
	}
	var failed []made
	for group := range slices.Chunk(endings, size) {
		err := run.writeGroup(group)
		if err == nil {
			run.keep(group)
			continue
		}
		run.load.Logger.Warn("an ending could not be written yet", "endings", len(group), "error", err)
		failed = append(failed, group...)
	}
	return run.giveUp(failed)
}

func (run *Run) writeGroup(group []made) error {
	ctx, cancel := context.WithTimeout(run.ctx, run.engine.Options.StatementTimeout)
	defer cancel()
	endings := make([]work.Ending, len(group))
	for i, attempt := range group {
		endings[i] = attempt.ending
	}
	recorded, err := run.engine.Recorder.Record(ctx, run.load.Lane, endings)
	if err != nil {
		return err
	}
	for _, ending := range endings {
		if !slices.Contains(recorded, ending.ID) {
			run.load.Logger.Warn("an ending came too late: the register had moved on",
				"work", ending.ID, "attempt", ending.Sequence, "outcome", ending.Outcome)
		}
	}
	return nil
}

func (run *Run) keep(group []made) {
	run.mu.Lock()
	defer run.mu.Unlock()
	for _, attempt := range group {
		run.report.Results = append(run.report.Results, attempt.result)
		run.report.LimitedFor = max(run.report.LimitedFor, attempt.limitedFor)
	}
}

// giveUp drops the endings whose time has run out and returns the others. What
// is dropped is reported as the register will take it: spent.
func (run *Run) giveUp(failed []made) (rest []made) {
	now := time.Now()
	var lost []made
	for _, attempt := range failed {
		if now.Before(attempt.giveUp) {
			rest = append(rest, attempt)
			continue
		}
		run.load.Logger.Error("an ending could not be written: the work will be emitted again under the same key",
			"work", attempt.ending.ID, "attempt", attempt.ending.Sequence, "outcome", attempt.ending.Outcome)
		attempt.result.Outcome, attempt.result.Reason = work.OutcomeSpent, ReasonNotRecorded
		attempt.result.RetryAt = time.Time{}
		lost = append(lost, attempt)
	}
	if len(lost) > 0 {
		run.engine.Meter.Unrecorded(run.load.Lane, len(lost))
		run.keep(lost)
	}
	return rest
}
