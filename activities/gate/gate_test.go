package gate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/activities/internal/lanetest"
	"github.com/adjourn/adjourn/quota"
	"github.com/adjourn/adjourn/work"
)

type counter struct {
	mu        sync.Mutex
	emissions []work.Emission
}

func (counter *counter) Count(emission work.Emission) {
	counter.mu.Lock()
	defer counter.mu.Unlock()
	counter.emissions = append(counter.emissions, emission)
}

type bench struct {
	*lanetest.Platform
	counter     *counter
	gate        *gate.Activities
	environment *testsuite.TestActivityEnvironment
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bench := &bench{Platform: lanetest.New(t), counter: &counter{}, environment: lanetest.Environment()}
	bench.Policy.Ceiling = 1
	bench.gate = &gate.Activities{
		Clock: bench.Store, Arbiter: bench.Arbiter, Policy: bench.ReadPolicy,
		Counter: bench.counter, Margin: time.Minute,
	}
	bench.environment.RegisterActivity(bench.gate)
	return bench
}

func (bench *bench) ask(t *testing.T, request gate.Request) gate.Answer {
	t.Helper()
	encoded, err := bench.environment.ExecuteActivity(bench.gate.Admit, request)
	require.NoError(t, err)
	var answer gate.Answer
	require.NoError(t, encoded.Get(&answer))
	return answer
}

func (bench *bench) usage(t *testing.T) quota.Usage {
	t.Helper()
	usage, err := bench.Arbiter.Usage(t.Context())
	require.NoError(t, err)
	return usage
}

// TestAnEnforcedFlowNeedsASlot: granted with the instant it dies, then deferred
// with when to ask again; a key repeats its slot until it is spent.
func TestAnEnforcedFlowNeedsASlot(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	request := gate.Request{Flow: "invoice", Key: "order-7"}
	granted := bench.ask(t, request)
	end := bench.usage(t).Window.End()
	require.Equal(t, gate.Answer{Verdict: gate.Granted, Lane: work.Governed, SlotEnd: end}, utc(granted))
	require.Equal(t, gate.Granted, bench.ask(t, request).Verdict, "the same slot")
	require.Equal(t, 1, bench.usage(t).Count)

	deferred := bench.ask(t, gate.Request{Flow: "invoice", Key: "order-8"})
	require.Equal(t, gate.Answer{Verdict: gate.Deferred, Reason: quota.ReasonQuotaFull, RetryAt: end}, utc(deferred))

	_, err := bench.environment.ExecuteActivity(bench.gate.Spend, request)
	require.NoError(t, err)
	require.Equal(t, gate.Deferred, bench.ask(t, request).Verdict, "a spent slot is no more")
	require.Empty(t, bench.counter.emissions)
}

func utc(answer gate.Answer) gate.Answer {
	answer.RetryAt, answer.SlotEnd = answer.RetryAt.UTC(), answer.SlotEnd.UTC()
	return answer
}

// TestAClosingDeadlineOverrides a full quota, and one whose tables are gone; it
// is counted (G2, A44).
func TestAClosingDeadlineOverrides(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 0
	bench.Exec(`DROP TABLE adjourn.quota_window, adjourn.quota_hold, adjourn.quota_reservation`)
	for _, deadline := range []time.Time{time.Now().Add(30 * time.Second), time.Now().Add(-time.Hour)} {
		answer := bench.ask(t, gate.Request{Flow: "invoice", Deadline: deadline})
		require.Equal(t, gate.Answer{Verdict: gate.Override, Lane: work.Override}, answer)
	}
	require.Len(t, bench.counter.emissions, 2)
	far := bench.ask(t, gate.Request{Flow: "invoice", Deadline: time.Now().Add(time.Hour)})
	require.Equal(t, gate.Deferred, far.Verdict)
	require.Equal(t, quota.ReasonArbiterUnavailable, far.Reason)
}

// TestAClockThatCannotBeAskedEmits what this machine takes for closing.
func TestAClockThatCannotBeAskedEmits(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.gate.Clock = deadClock{}
	answer := bench.ask(t, gate.Request{Flow: "invoice", Deadline: time.Now()})
	require.Equal(t, gate.Override, answer.Verdict)
}

type deadClock struct{}

func (deadClock) Now(context.Context) (time.Time, error) { return time.Time{}, errors.New("down") }

// TestExemptAndUnknownFlowsPass whatever the settings (G6, A57), and are counted.
func TestExemptAndUnknownFlowsPass(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Policy.Ceiling = 0
	bench.Policy.ExemptFlows = []string{"ack"}
	for _, flow := range []string{"ack", "zzz"} {
		require.Equal(t, gate.Answer{Verdict: gate.Granted, Lane: work.Exempt}, bench.ask(t, gate.Request{Flow: flow}))
	}
	require.Len(t, bench.counter.emissions, 2)
	require.Equal(t, 0, bench.usage(t).Count)
}

// TestAnObservedFlowGoesAnyway: what enforcing would have deferred is said, and
// uses the shared window; the third party's own word binds it (A53).
func TestAnObservedFlowGoesAnyway(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	request := gate.Request{Flow: "observed"}
	require.False(t, bench.ask(t, gate.Request{Flow: "observed", Key: "first"}).WouldDefer)
	require.Equal(t, gate.Answer{
		Verdict: gate.Granted, Lane: work.Governed, WouldDefer: true, Reason: quota.ReasonQuotaFull,
	}, bench.ask(t, request))
	require.Equal(t, 2, bench.usage(t).Count)

	require.NoError(t, bench.Arbiter.Hold(t.Context(), time.Now().Add(time.Hour)))
	held := bench.ask(t, request)
	require.Equal(t, gate.Deferred, held.Verdict)
	require.Equal(t, quota.ReasonThirdPartyLimit, held.Reason)
}

// TestAnArbiterInErrorDefersOnlyWhatIsEnforced (G8).
func TestAnArbiterInErrorDefersOnlyWhatIsEnforced(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	bench.Exec(`DROP TABLE adjourn.quota_window`)
	enforced := bench.ask(t, gate.Request{Flow: "invoice"})
	require.Equal(t, gate.Answer{Verdict: gate.Deferred, Reason: quota.ReasonArbiterUnavailable}, enforced)
	observed := bench.ask(t, gate.Request{Flow: "observed"})
	require.Equal(t, gate.Granted, observed.Verdict)
	require.Equal(t, quota.ReasonArbiterUnavailable, observed.Reason)
}

// TestWrongRequestsAreRefused: by name, and not retried.
func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	ask := func(function any, request gate.Request) *temporal.ApplicationError {
		_, err := bench.environment.ExecuteActivity(function, request)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		return application
	}
	require.True(t, ask(bench.gate.Admit, gate.Request{}).NonRetryable())
	long := gate.Request{Flow: "invoice", Key: strings.Repeat("k", quota.KeyBytesMax+1)}
	require.True(t, ask(bench.gate.Admit, long).NonRetryable())
	require.True(t, ask(bench.gate.Spend, gate.Request{}).NonRetryable())
	bench.gate.Policy = func(context.Context) (quota.Policy, error) { return quota.Policy{}, errors.New("down") }
	require.False(t, ask(bench.gate.Admit, gate.Request{Flow: "invoice"}).NonRetryable())
}
