package quotatest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/quota/quotatest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	quotatest.Conformance(t, func(_ *testing.T, options quotatest.Options) quotatest.Subject {
		clock := quotatest.NewClock(time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC))
		return quotatest.Subject{
			Arbiter: quotatest.NewMemory(quotatest.MemoryOptions{
				Window: options.Window, HoldMax: options.HoldMax, Now: clock.Now,
			}),
			Advance: clock.Advance,
		}
	})
}

func TestMemoryBreaksAndHeals(t *testing.T) {
	t.Parallel()
	memory := quotatest.NewMemory(quotatest.MemoryOptions{Window: time.Hour, Now: time.Now})
	broken := errors.New("out of order")
	memory.Break(broken)
	_, err := memory.Reserve(t.Context(), 10, 1)
	require.ErrorIs(t, err, broken)
	_, err = memory.ReserveOnce(t.Context(), 10, "a")
	require.ErrorIs(t, err, broken)
	_, err = memory.Usage(t.Context())
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, memory.SpendOnce(t.Context(), "a"), broken)
	require.ErrorIs(t, memory.Charge(t.Context(), time.Now(), 1), broken)
	require.ErrorIs(t, memory.Hold(t.Context(), time.Now().Add(time.Hour)), broken)
	memory.Break(nil)
	usage, err := memory.Usage(t.Context())
	require.NoError(t, err)
	require.Zero(t, usage.Count, "nothing was taken meanwhile")
	require.False(t, usage.Held())
}

// TestRaceCatchesABrokenArbiter: each promise the harness judges is one that it
// can see broken.
func TestRaceCatchesABrokenArbiter(t *testing.T) {
	t.Parallel()
	options := quotatest.RaceOptions{
		Callers: 2, Rounds: 3, SlotsMax: 4, CeilingMin: 5, CeilingMax: 5, Seed: 1,
	}
	answers := map[string]func(ceiling int32, slots int) quota.Grant{
		"more than was asked": func(_ int32, slots int) quota.Grant {
			return quota.Grant{Slots: slots + 1, Count: slots + 1}
		},
		"above the ceiling": func(ceiling int32, slots int) quota.Grant {
			return quota.Grant{Slots: slots, Count: int(ceiling) + 1}
		},
		"granted whole, yet refused": func(ceiling int32, slots int) quota.Grant {
			return quota.Grant{Slots: slots, Count: int(ceiling), Reason: quota.ReasonQuotaFull}
		},
		"granted in part, yet not refused": func(ceiling int32, slots int) quota.Grant {
			return quota.Grant{Slots: slots - 1, Count: int(ceiling)}
		},
		"refused while there was room": func(int32, int) quota.Grant {
			return quota.Grant{Reason: quota.ReasonQuotaFull}
		},
		"although the run before ended": func(_ int32, slots int) quota.Grant {
			return quota.Grant{Slots: slots, Count: slots}
		},
	}
	for promise, answer := range answers {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			violations := quotatest.Race(t.Context(), reserveWith(answer, nil), options)
			require.Contains(t, join(violations), promise)
		})
	}
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		failing := reserveWith(answers["above the ceiling"], errors.New("out of order"))
		require.Contains(t, join(quotatest.Race(t.Context(), failing, options)), "out of order")
	})
}

func reserveWith(answer func(ceiling int32, slots int) quota.Grant, err error) quotatest.Reserve {
	return func(_ context.Context, ceiling int32, slots int) (quota.Grant, error) {
		return answer(ceiling, slots), err
	}
}

func join(violations []string) string { return strings.Join(violations, "\n") }

func TestMemoryCadence(t *testing.T) {
	t.Parallel()
	quotatest.CadenceConformance(t, func(
		_ *testing.T, rate quota.CadenceRate, window time.Duration,
	) (quota.Cadence, func(time.Duration)) {
		clock := quotatest.NewClock(time.Date(2026, 3, 1, 0, 30, 0, 0, time.UTC))
		return quotatest.NewMemoryCadence(rate, window, clock.Now), clock.Advance
	})
}
