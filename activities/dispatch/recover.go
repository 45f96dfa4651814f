package dispatch

import (
	"context"

	"github.com/adjourn/adjourn/activities/internal/heartbeat"
	"github.com/adjourn/adjourn/work"
)

// Recovered is what a pass found left behind.
type Recovered struct {
	Woken        int    `json:"woken,omitempty"`
	ExpiredSlots int    `json:"expired_slots,omitempty"`
	LostAttempts int    `json:"lost_attempts,omitempty"`
	Restarts     Starts `json:"restarts,omitzero"`
	// Problem that ended the rounds early; empty without one.
	Problem string `json:"problem,omitempty"`
}

// Recover puts right what dead processes left behind and starts again the
// workflows of admitted works that stand still.
func (activities *Activities) Recover(ctx context.Context) (Recovered, error) {
	options := activities.Options.withDefaults()
	var total Recovered
	defer heartbeat.Start(ctx, func() any { return nil })()
	for round := range RoundsMax {
		recovery, err := ask(ctx, options, func(ctx context.Context) (work.Recovery, error) {
			return activities.Register.Recover(ctx, work.RecoverOptions{
				Window: options.Window, RestartAfter: options.RestartAfter,
				NoRetryFlows: options.NoRetryFlows, Backoff: options.Backoff, Limit: options.Batch,
			})
		})
		if err != nil {
			return total, early(round, err, &total.Problem)
		}
		activities.Meter.Recovered(recovery)
		total.Woken += recovery.Woken
		total.ExpiredSlots += recovery.ExpiredSlots
		total.LostAttempts += recovery.LostAttempts
		for _, lane := range work.Lanes() {
			total.Restarts.add(activities.start(ctx, carriagesOf(recovery.Restart, lane)))
		}
		fullest := max(recovery.Woken, recovery.ExpiredSlots, recovery.LostAttempts, worksIn(recovery.Restart))
		if fullest < options.Batch {
			break
		}
	}
	return total, nil
}

func carriagesOf(carriages []work.Carriage, lane work.Lane) (mine []work.Carriage) {
	for _, carriage := range carriages {
		if carriage.Lane == lane {
			mine = append(mine, carriage)
		}
	}
	return mine
}

func worksIn(carriages []work.Carriage) int {
	works := 0
	for _, carriage := range carriages {
		works += len(carriage.Works)
	}
	return works
}

func tally(carriages []work.Carriage) work.Tally {
	counts := work.Tally{}
	for _, carriage := range carriages {
		for _, ref := range carriage.Works {
			counts[ref.Flow]++
		}
	}
	return counts
}
