package quotatest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// Options is what the suite asks of an arbiter under test.
type Options struct {
	// Window is the windows' length.
	Window time.Duration
	// HoldMax bounds a hold.
	HoldMax time.Duration
}

// Subject is one arbiter under test, with nothing taken.
type Subject struct {
	Arbiter quota.Arbiter
	// Advance moves the arbiter's clock forwards. Nil when the clock is real; the
	// suite then waits for it.
	Advance func(distance time.Duration)
}

// Factory makes a fresh subject, released by the test's own clean-up.
type Factory func(t *testing.T, options Options) Subject

const (
	// margin must be left of a window before a test begins that would be disturbed
	// by the window's end.
	margin = 30 * time.Second
	// turning is a window short enough to wait for its end on a real clock.
	turning = 2 * time.Second
	// patience bounds every wait for a real clock.
	patience = 2 * margin
)

// Conformance is the one suite that every [quota.Arbiter] passes, in memory and
// on Postgres.
func Conformance(t *testing.T, factory Factory) {
	t.Helper()
	suites := map[string]map[string]func(*testing.T, Factory){
		"Reserve": reserveRules, "ReserveOnce": onceRules, "Charge": chargeRules,
		"Hold": holdRules, "Usage": usageRules,
	}
	for suite, rules := range suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			for name, rule := range rules {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					rule(t, factory)
				})
			}
		})
	}
}

// begin makes a subject whose window does not end during the test.
func begin(t *testing.T, factory Factory) (context.Context, Subject) {
	t.Helper()
	subject := factory(t, Options{Window: quota.Day, HoldMax: quota.Day})
	eventually(t, "the window has time left", func() bool {
		usage := usageOf(t, subject)
		return usage.Window.OpenFor(usage.Now, margin)
	})
	return t.Context(), subject
}

func usageOf(t *testing.T, subject Subject) quota.Usage {
	t.Helper()
	usage, err := subject.Arbiter.Usage(t.Context())
	require.NoError(t, err)
	return usage
}

func reserve(t *testing.T, subject Subject, ceiling int32, slots int) quota.Grant {
	t.Helper()
	grant, err := subject.Arbiter.Reserve(t.Context(), ceiling, slots)
	require.NoError(t, err)
	return grant
}

// until lets the subject's clock reach instant.
func until(t *testing.T, subject Subject, instant time.Time) {
	t.Helper()
	if subject.Advance != nil {
		subject.Advance(instant.Sub(usageOf(t, subject).Now))
	}
	eventually(t, "the clock reaches "+instant.String(), func() bool {
		return !usageOf(t, subject).Now.Before(instant)
	})
}

// eventually polls condition, on the test's own goroutine, until it holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.Fail(t, "waited in vain", "%s, for %s", what, patience)
		}
	}
}

// requireGranted asserts that everything asked was granted.
func requireGranted(t *testing.T, grant quota.Grant, slots, count int) {
	t.Helper()
	require.Equal(t, slots, grant.Slots)
	require.Equal(t, count, grant.Count)
	require.False(t, grant.Refused(), "refused: %s", grant.Reason)
	require.Zero(t, grant.RetryAt)
	require.True(t, grant.Window.Contains(grant.Now))
}

// requireRefused asserts a refusal of all or of the rest because the window is
// full, worded as a value.
func requireRefused(t *testing.T, grant quota.Grant, slots, count int) {
	t.Helper()
	require.Equal(t, slots, grant.Slots)
	require.Equal(t, count, grant.Count)
	require.True(t, grant.Refused())
	require.Equal(t, quota.ReasonQuotaFull, grant.Reason)
	require.Equal(t, grant.Window.End(), grant.RetryAt)
	require.True(t, grant.Window.Contains(grant.Now))
}
