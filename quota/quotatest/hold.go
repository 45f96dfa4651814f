package quotatest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

var holdRules = map[string]func(*testing.T, Factory){
	"RefusesUntilItEnds":         holdRefusesUntilItEnds,
	"EarlierHoldDoesNotShorten":  earlierHoldDoesNotShorten,
	"PastHoldChangesNothing":     pastHoldChangesNothing,
	"IsClamped":                  holdIsClamped,
	"FullWindowOutlastsTheHold":  fullWindowOutlastsTheHold,
	"DoesNotRefuseAskingNothing": holdDoesNotRefuseAskingNothing,
}

// requireHeld asserts a refusal because the third party asked to wait.
func requireHeld(t *testing.T, grant quota.Grant, count int, retryAt time.Time) {
	t.Helper()
	require.Zero(t, grant.Slots)
	require.Equal(t, count, grant.Count)
	require.Equal(t, quota.ReasonThirdPartyLimit, grant.Reason)
	require.WithinDuration(t, retryAt, grant.RetryAt, 0)
}

// holdFor holds the subject for a while from its own now.
func holdFor(t *testing.T, subject Subject, length time.Duration) (heldUntil time.Time) {
	t.Helper()
	heldUntil = usageOf(t, subject).Now.Add(length).Truncate(time.Microsecond)
	require.NoError(t, subject.Arbiter.Hold(t.Context(), heldUntil))
	return heldUntil
}

func holdRefusesUntilItEnds(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	requireGranted(t, reserve(t, subject, 10, 1), 1, 1)
	heldUntil := holdFor(t, subject, time.Second)
	requireHeld(t, reserve(t, subject, 10, 1), 1, heldUntil)
	require.WithinDuration(t, heldUntil, usageOf(t, subject).HeldUntil, 0)
	until(t, subject, heldUntil)
	requireGranted(t, reserve(t, subject, 10, 1), 1, 2)
	require.Zero(t, usageOf(t, subject).HeldUntil, "not in force any more")
}

func earlierHoldDoesNotShorten(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	long := holdFor(t, subject, time.Hour)
	holdFor(t, subject, time.Minute)
	requireHeld(t, reserve(t, subject, 10, 1), 0, long)
	longer := holdFor(t, subject, 2*time.Hour)
	requireHeld(t, reserve(t, subject, 10, 1), 0, longer)
}

func pastHoldChangesNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	holdFor(t, subject, -time.Second)
	holdFor(t, subject, -quota.Day)
	requireGranted(t, reserve(t, subject, 10, 1), 1, 1)
	require.Zero(t, usageOf(t, subject).HeldUntil)
}

// holdIsClamped: a nonsense Retry-After must not stop everything for years.
func holdIsClamped(t *testing.T, factory Factory) {
	subject := factory(t, Options{Window: quota.Day, HoldMax: time.Hour})
	before := usageOf(t, subject).Now
	holdFor(t, subject, 1000*quota.Day)
	after := usageOf(t, subject)
	require.WithinRange(t, after.HeldUntil, before.Add(time.Hour), after.Now.Add(time.Hour))
}

// fullWindowOutlastsTheHold: in a full window the end of the hold gives no room.
func fullWindowOutlastsTheHold(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	full := reserve(t, subject, 3, 3)
	requireGranted(t, full, 3, 3)
	holdFor(t, subject, margin/2)
	requireHeld(t, reserve(t, subject, 3, 1), 3, full.Window.End())
}

func holdDoesNotRefuseAskingNothing(t *testing.T, factory Factory) {
	_, subject := begin(t, factory)
	holdFor(t, subject, time.Hour)
	requireGranted(t, reserve(t, subject, 10, 0), 0, 0)
}
