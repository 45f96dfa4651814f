package governed

import (
	"context"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/adjourn/adjourn/quota"
)

// Pace gives attempts their start instants: by the cadence all processes share
// or, while that cannot be asked, by this process alone at the same rate. Create
// it with [NewPace]. Safe for concurrent use.
type Pace struct {
	cadence quota.Cadence
	local   *rate.Limiter
}

// NewPace paces by cadence; nil when the rate is off, which is no pace.
func NewPace(cadence quota.Cadence, setting quota.CadenceRate) *Pace {
	if setting.Off() {
		return nil
	}
	return &Pace{
		cadence: cadence,
		local:   rate.NewLimiter(rate.Every(setting.Interval()), max(1, setting.Burst)),
	}
}

// offsets of n attempts from now, ascending, and the cadence's error when they
// are this process's own.
func (pace *Pace) offsets(ctx context.Context, n int) ([]time.Duration, error) {
	offsets, err := pace.cadence.Schedule(ctx, n)
	if err == nil {
		return offsets, nil
	}
	offsets = offsets[:0]
	now := time.Now()
	for range n {
		offsets = append(offsets, pace.local.ReserveN(now, 1).DelayFrom(now))
	}
	slices.Sort(offsets)
	return offsets, err
}
