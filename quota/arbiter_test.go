package quota_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// usageOf an hour at half past, holding count slots.
func usageOf(count int) quota.Usage {
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	return quota.Usage{Window: quota.WindowAt(now, time.Hour), Now: now, Count: count}
}

// TestDecide: what is granted, and how a refusal is worded, as a value (A15-A19,
// A27).
func TestDecide(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name         string
		count        int
		ceiling      int32
		slots        int
		granted      int
		countAfter   int
		refusedAtAll bool
	}{
		{"first of an empty window", 0, 10, 1, 1, 1, false},
		{"the last slot", 9, 10, 1, 1, 10, false},
		{"full", 10, 10, 1, 0, 10, true},
		{"beyond full", 25, 10, 1, 0, 25, true},
		{"batch that fits", 3, 10, 7, 7, 10, false},
		{"batch above what is left", 3, 10, 8, 7, 10, true},
		{"nothing asked", 3, 10, 0, 0, 3, false},
		{"nothing asked of a full window", 10, 10, 0, 0, 10, false},
		{"fewer than nothing asked", 3, 10, -4, 0, 3, false},
		{"the most that can be asked", 0, 10, math.MaxInt, 10, 10, true},
		{"the least that can be asked", 0, 10, math.MinInt, 0, 0, false},
		{"highest ceiling", 0, math.MaxInt32, math.MaxInt, math.MaxInt32, math.MaxInt32, true},
		{"highest ceiling, full", math.MaxInt32, math.MaxInt32, 1, 0, math.MaxInt32, true},
		{"highest count", math.MaxInt, 10, 1, 0, math.MaxInt, true},
		{"damaged count gives no extra room", -5, 10, 20, 10, 10, true},
		{"lowest count", math.MinInt, 10, 20, 10, 10, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			usage := usageOf(c.count)
			grant := quota.Decide(usage, c.ceiling, c.slots)
			require.Equal(t, c.granted, grant.Slots)
			require.Equal(t, c.countAfter, grant.Count)
			require.Equal(t, c.refusedAtAll, grant.Refused())
			require.Equal(t, usage.Window, grant.Window)
			require.Equal(t, usage.Now, grant.Now)
			if c.refusedAtAll {
				require.Equal(t, quota.ReasonQuotaFull, grant.Reason)
				require.Equal(t, usage.Window.End(), grant.RetryAt)
			} else {
				require.Zero(t, grant.RetryAt)
			}
		})
	}
}

// TestDecideCeilingZeroOrNegativeRefusesAll is the guard's own test (A20, A22,
// A58, G7): without it a window that holds nothing yet would grant.
func TestDecideCeilingZeroOrNegativeRefusesAll(t *testing.T) {
	t.Parallel()
	for _, ceiling := range []int32{0, -1, -1000, math.MinInt32} {
		for _, count := range []int{0, 1, math.MaxInt32, -7} {
			for _, slots := range []int{1, 2, math.MaxInt32, math.MaxInt} {
				grant := quota.Decide(usageOf(count), ceiling, slots)
				require.Zero(t, grant.Slots, "ceiling %d, count %d, slots %d", ceiling, count, slots)
				require.Equal(t, max(0, count), grant.Count)
				require.Equal(t, quota.ReasonQuotaFull, grant.Reason)
				require.Equal(t, grant.Window.End(), grant.RetryAt)
			}
		}
	}
}

// TestDecideUnderAHold: while the third party asked to wait, nothing is granted
// and the refusal says until when.
func TestDecideUnderAHold(t *testing.T) {
	t.Parallel()
	held := func(count int, hold time.Duration) quota.Usage {
		usage := usageOf(count)
		usage.HeldUntil = usage.Now.Add(hold)
		return usage
	}
	end := usageOf(0).Window.End()
	cases := []struct {
		name    string
		usage   quota.Usage
		slots   int
		granted int
		reason  quota.Reason
		retryAt time.Time
	}{
		{"room left", held(0, time.Minute), 1, 0, quota.ReasonThirdPartyLimit, usageOf(0).Now.Add(time.Minute)},
		{"room left, hold beyond the window", held(0, time.Hour), 1, 0, quota.ReasonThirdPartyLimit, end.Add(30 * time.Minute)},
		{"full too", held(10, time.Minute), 1, 0, quota.ReasonThirdPartyLimit, end},
		{"full too, hold beyond the window", held(10, time.Hour), 1, 0, quota.ReasonThirdPartyLimit, end.Add(30 * time.Minute)},
		{"nothing asked", held(0, time.Minute), 0, 0, "", time.Time{}},
		{"over at this instant", held(0, 0), 1, 1, "", time.Time{}},
		{"over", held(0, -time.Minute), 1, 1, "", time.Time{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			grant := quota.Decide(c.usage, 10, c.slots)
			require.Equal(t, c.granted, grant.Slots)
			require.Equal(t, c.usage.Count+c.granted, grant.Count)
			require.Equal(t, c.reason, grant.Reason)
			require.Equal(t, c.retryAt, grant.RetryAt)
		})
	}
}

func TestUsageRemaining(t *testing.T) {
	t.Parallel()
	require.Equal(t, 7, usageOf(3).Remaining(10))
	require.Zero(t, usageOf(10).Remaining(10))
	require.Zero(t, usageOf(25).Remaining(10), "observed emissions beyond the ceiling")
	require.Zero(t, usageOf(0).Remaining(0))
	require.Zero(t, usageOf(0).Remaining(math.MinInt32))
	require.Equal(t, math.MaxInt32, usageOf(0).Remaining(math.MaxInt32))
	require.Equal(t, 10, usageOf(math.MinInt).Remaining(10))
	require.Zero(t, usageOf(math.MaxInt).Remaining(10))
}

// TestReasonsListsEveryReasonOnce: metrics create each label value from it.
func TestReasonsListsEveryReasonOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, []quota.Reason{
		"quota_full", "third_party_limit", "arbiter_unavailable", "slot_expired", "cadence",
	}, quota.Reasons())
	quota.Reasons()[0] = "changed"
	require.Equal(t, quota.ReasonQuotaFull, quota.Reasons()[0], "each caller has its own list")
}
