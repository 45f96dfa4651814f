package quotatest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/adjourn/adjourn/quota"
)

// Reserve is the call under race, of one arbiter or of several that share a
// window.
type Reserve func(ctx context.Context, ceiling int32, slots int) (quota.Grant, error)

// RaceOptions shapes a race. All fields are required.
type RaceOptions struct {
	// Callers at once, each making Rounds reservations of 1 to SlotsMax slots.
	Callers, Rounds, SlotsMax int
	// CeilingMin and CeilingMax bound the ceiling, drawn anew for each
	// reservation.
	CeilingMin, CeilingMax int32
	// Seed of the draws.
	Seed uint64
}

// violationsMax bounds what a race reports.
const violationsMax = 20

type raced struct {
	ceiling int32
	slots   int
	grant   quota.Grant
	err     error
}

// Race lets many callers reserve at once from windows in which nobody else does,
// and returns every broken promise: slots granted twice, above the ceiling or
// above what was asked, and refusals while there was room. Empty when the arbiter
// is exact. It judges the answers alone, so that a broken arbiter whose own
// counter looks right is caught as well.
func Race(ctx context.Context, reserve Reserve, options RaceOptions) (violations []string) {
	answers := make([][]raced, options.Callers)
	start := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range options.Callers {
		random := rand.New(rand.NewPCG(options.Seed, uint64(caller)))
		callers.Go(func() {
			<-start
			for range options.Rounds {
				one := raced{
					ceiling: options.CeilingMin + random.Int32N(options.CeilingMax-options.CeilingMin+1),
					slots:   1 + random.IntN(options.SlotsMax),
				}
				one.grant, one.err = reserve(ctx, one.ceiling, one.slots)
				answers[caller] = append(answers[caller], one)
			}
		})
	}
	close(start)
	callers.Wait()
	all := slices.Concat(answers...)
	for _, one := range all {
		violations = append(violations, one.violations()...)
	}
	violations = append(violations, overlaps(all)...)
	return violations[:min(len(violations), violationsMax)]
}

func (one raced) violations() (found []string) {
	report := func(broken bool, promise string) {
		if broken {
			found = append(found, fmt.Sprintf("%s: ceiling %d, asked %d, answer %+v, error %v",
				promise, one.ceiling, one.slots, one.grant, one.err))
		}
	}
	grant := one.grant
	report(one.err != nil, "error")
	if one.err != nil {
		return found
	}
	report(grant.Slots < 0 || grant.Slots > one.slots, "more than was asked")
	report(grant.Slots > 0 && grant.Count > int(one.ceiling), "above the ceiling")
	report(grant.Slots == one.slots && grant.Refused(), "granted whole, yet refused")
	report(grant.Slots < one.slots && !grant.Refused(), "granted in part, yet not refused")
	report(grant.Refused() && grant.Count < int(one.ceiling), "refused while there was room")
	return found
}

// overlaps finds slots granted twice or skipped: a grant of n slots ending at
// count c took the slots from c-n+1 to c, and in each window these runs follow
// each other from 1 without gap.
func overlaps(all []raced) (violations []string) {
	windows := make(map[time.Time][]quota.Grant)
	for _, one := range all {
		if one.err == nil && one.grant.Slots > 0 {
			windows[one.grant.Window.Start] = append(windows[one.grant.Window.Start], one.grant)
		}
	}
	for _, grants := range windows {
		slices.SortFunc(grants, func(a, b quota.Grant) int { return cmp.Compare(a.Count, b.Count) })
		taken := 0
		for _, grant := range grants {
			if first := grant.Count - grant.Slots; first != taken {
				violations = append(violations, fmt.Sprintf(
					"slots %d to %d granted, although the run before ended at %d",
					first+1, grant.Count, taken))
			}
			taken = grant.Count
		}
	}
	return violations
}
