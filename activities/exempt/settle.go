package exempt

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/adjourn/adjourn/activities/internal/attempt"
	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/work"
)

// earlierResults are those of the activity's earlier tries. Without them the
// register still knows: such works are then reported gone.
func earlierResults(ctx context.Context) []work.Result {
	var results []work.Result
	if !activity.HasHeartbeatDetails(ctx) {
		return nil
	}
	if err := activity.GetHeartbeatDetails(ctx, &results); err != nil {
		activity.GetLogger(ctx).Warn("results of the earlier tries are not readable", "error", err)
		return nil
	}
	return results
}

func unsettled(works []work.Ref, settled []work.Result) []work.ID {
	var ids []work.ID
	for _, ref := range works {
		if !slices.ContainsFunc(settled, func(result work.Result) bool { return result.ID == ref.ID }) {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// settle adds what the run settled to what was settled before. The error asks
// for another try of the works that are left; the output is then what that try
// may build on.
func (activities *Activities) settle(
	load attempt.Load, settled []work.Result, report attempt.Report,
) (Output, error) {
	output := Output{Results: slices.Clone(settled), Gone: report.Gone}
	var left []work.Result
	for _, result := range report.Results {
		final := result.Outcome == work.OutcomeEmitted || result.Outcome == work.OutcomeFailed
		if final || load.NoRetry {
			output.Results = append(output.Results, result)
		} else {
			left = append(left, result)
		}
	}
	if load.NoRetry {
		for _, busy := range report.Busy {
			// A recovery fails it when that attempt is surely over.
			output.Results = append(output.Results, work.Result{
				ID: busy.ID, Outcome: work.OutcomeSpent, Reason: attempt.ReasonInFlight,
			})
		}
		report.Busy = nil
	}
	slices.SortFunc(output.Results, func(a, b work.Result) int { return cmp.Compare(a.ID, b.ID) })
	return output, activities.retry(left, report)
}

// retry is the error that brings the works that are left back, nil without any.
// Trouble goes before what is expected.
func (activities *Activities) retry(left []work.Result, report attempt.Report) error {
	retryMax := activities.RetryMax
	if retryMax <= 0 {
		retryMax = time.Minute
	}
	limitedFor := min(report.LimitedFor, retryMax)
	trouble := slices.IndexFunc(left, func(result work.Result) bool { return result.Outcome != work.OutcomeDeferred })
	switch {
	case trouble >= 0:
		return failure.Ended(left[trouble], limitedFor)
	case len(left) > 0:
		return failure.Ended(left[0], limitedFor)
	case len(report.Busy) > 0:
		return failure.InFlight(report.Busy[0].Until, activities.Options.WithDefaults().SurelyOver())
	default:
		return nil
	}
}
