package workflows_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/adjourn/adjourn/activities/dispatch"
	"github.com/adjourn/adjourn/activities/exempt"
	"github.com/adjourn/adjourn/activities/gate"
	"github.com/adjourn/adjourn/activities/governed"
	"github.com/adjourn/adjourn/activities/override"
	"github.com/adjourn/adjourn/emitter/emittertest"
	"github.com/adjourn/adjourn/internal/dbtest"
	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
	workpostgres "github.com/adjourn/adjourn/work/postgres"
	"github.com/adjourn/adjourn/workflows"
)

// marker is a payload that must never be seen in Temporal.
const marker = "a-payload-nobody-should-see"

// platform is every lane as registered in production, on a real register, arbiter
// and Temporal server.
type platform struct {
	temporal client.Client
	queues   workflows.Queues
	store    *workpostgres.Store
	party    *emittertest.Memory
	submit   func(flow string, deadline time.Time) work.ID
}

func startPlatform(t *testing.T, prefix string, ceiling int32, temporalClient client.Client) *platform {
	t.Helper()
	pool := dbtest.New(t)
	quotaOptions := quotapostgres.Options{Window: quota.Day}
	arbiter := quotapostgres.NewArbiter(pool, quotaOptions)
	t.Cleanup(arbiter.Close)
	platform := &platform{
		temporal: temporalClient, queues: workflows.QueuesWith(prefix),
		store: workpostgres.New(pool), party: &emittertest.Memory{},
	}
	platform.submit = func(flow string, deadline time.Time) work.ID {
		submitted, err := workpostgres.Submit(t.Context(), pool, work.Submission{
			Flow: flow, Deadline: deadline, Payload: []byte(marker),
		})
		require.NoError(t, err)
		return submitted.ID
	}
	policy := func(context.Context) (quota.Policy, error) {
		return quota.Policy{Ceiling: ceiling, Flows: map[string]bool{"invoice": true}}, nil
	}
	admitter := &workpostgres.Admitter{
		Store: platform.store, Arbiter: platform.store, Register: quotapostgres.NewRegister(quotaOptions),
		Policy: policy, Margin: time.Minute,
	}
	meter := silentMeter{}
	platform.work(t, platform.queues.Dispatch, func(registry worker.Registry) {
		workflows.RegisterDispatch(registry, &dispatch.Activities{
			Register: platform.store, Overrides: platform.store, Admitter: admitter,
			Starter: workflows.Starter{Client: temporalClient, Queues: platform.queues, SearchAttributes: true},
			Slots:   arbiter, Policy: policy, Meter: meter, Options: dispatch.Options{Window: quota.Day, Margin: time.Minute},
		})
	})
	platform.work(t, platform.queues.Governed, func(registry worker.Registry) {
		workflows.RegisterGoverned(registry, &governed.Activities{
			Recorder: platform.store, Releaser: platform.store, Admitter: admitter, Emitter: platform.party,
			Arbiter: arbiter, Meter: meter, Options: governed.Options{Window: quota.Day, Guard: 2 * time.Second},
		})
		workflows.RegisterGate(registry, &gate.Activities{Clock: platform.store, Arbiter: arbiter, Policy: policy})
	})
	platform.work(t, platform.queues.Override, func(registry worker.Registry) {
		workflows.RegisterOverride(registry, &override.Activities{
			Recorder: platform.store, Emitter: platform.party, Counter: meter, Meter: meter,
		})
	})
	platform.work(t, platform.queues.Exempt, func(registry worker.Registry) {
		workflows.RegisterExempt(registry, &exempt.Activities{
			Recorder: platform.store, Emitter: platform.party, Counter: meter, Meter: meter,
		})
	})
	return platform
}

func (platform *platform) work(t *testing.T, queue string, register func(worker.Registry)) {
	t.Helper()
	lane := worker.New(platform.temporal, queue, worker.Options{DisableRegistrationAliasing: true})
	register(lane)
	require.NoError(t, lane.Start())
	t.Cleanup(lane.Stop)
}

// pass runs one pass to its end.
func (platform *platform) pass(t *testing.T) workflows.PassSummary {
	t.Helper()
	run, err := platform.temporal.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: platform.queues.PassWorkflowID(), TaskQueue: platform.queues.Dispatch},
		workflows.NameDispatch, workflows.DispatchInput{})
	require.NoError(t, err)
	var summary workflows.PassSummary
	require.NoError(t, run.Get(t.Context(), &summary))
	return summary
}

func (platform *platform) emission(t *testing.T, workflowID string) workflows.Emission {
	t.Helper()
	var emission workflows.Emission
	require.NoError(t, platform.temporal.GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), &emission))
	return emission
}

// testPlatform: one pass carries every lane from the register to the third party
// and back, as registered; a refusal is nowhere an error; no payload byte enters
// Temporal (G3, G10).
func testPlatform(t *testing.T, temporalClient client.Client) {
	platform := startPlatform(t, "platform", 2, temporalClient)
	urgent := platform.submit("invoice", time.Now().Add(-time.Minute))
	governedWorks := []work.ID{
		platform.submit("invoice", time.Now().Add(time.Hour)), platform.submit("invoice", time.Time{}),
		platform.submit("invoice", time.Time{}),
	}
	ack := platform.submit("ack", time.Time{})
	summary := platform.pass(t)
	require.Equal(t, workflows.PassSummary{
		Chosen: 5, Granted: 2, Deferred: map[string]int{string(quota.ReasonQuotaFull): 1},
		Overridden: 1, Exempt: 1, Started: 3,
	}, summary)
	start := quota.WindowAt(time.Now(), quota.Day).Start
	ids := []string{
		work.OverrideWorkflowID(urgent), work.ExemptWorkflowID(ack),
		work.GovernedWorkflowID(start, governedWorks[0]),
	}
	require.Equal(t, work.OutcomeEmitted, platform.emission(t, ids[0]).Results[0].Outcome)
	require.Equal(t, work.OutcomeEmitted, platform.emission(t, ids[1]).Results[0].Outcome)
	require.Len(t, platform.emission(t, ids[2]).Results, 2)
	require.Len(t, platform.party.Messages(), 4)

	// A job engine starts what it names itself, without a slot.
	_, err := temporalClient.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "direct", TaskQueue: platform.queues.Governed},
		workflows.NameEmitGoverned, workflows.EmitGovernedInput{Works: []work.Ref{{ID: governedWorks[2], Flow: "invoice"}}})
	require.NoError(t, err)
	refused := platform.emission(t, "direct").Results
	require.Len(t, refused, 1)
	require.Equal(t, work.OutcomeDeferred, refused[0].Outcome)
	require.Equal(t, string(quota.ReasonQuotaFull), refused[0].Reason)
	require.True(t, start.Add(quota.Day).Equal(refused[0].RetryAt))

	for _, id := range append(ids, "direct", platform.queues.PassWorkflowID()) {
		requireNoPayload(t, temporalClient, id)
	}
}

func requireNoPayload(t *testing.T, temporalClient client.Client, id string) {
	t.Helper()
	recorded := fetchHistory(t.Context(), t, temporalClient, temporalClient.GetWorkflow(t.Context(), id, ""))
	require.Greater(t, len(recorded.Events), 5)
	wire, err := proto.Marshal(recorded)
	require.NoError(t, err)
	for _, written := range []string{
		marker, base64.StdEncoding.EncodeToString([]byte(marker)), hex.EncodeToString([]byte(marker)),
	} {
		require.False(t, bytes.Contains(wire, []byte(written)), "payload bytes in the history of %s", id)
	}
}

// silentMeter implements every meter and counter.
type silentMeter struct{}

func (silentMeter) Attempted(string, work.Lane, work.Outcome, bool) {}
func (silentMeter) Unrecorded(work.Lane, int)                       {}
func (silentMeter) Admission(work.AdmissionBatch)                   {}
func (silentMeter) Reserved(time.Duration)                          {}
func (silentMeter) Deferred(string, string, int)                    {}
func (silentMeter) HoldFailed()                                     {}
func (silentMeter) CadenceFailed()                                  {}
func (silentMeter) Overridden(work.Tally)                           {}
func (silentMeter) Exempted(work.Tally)                             {}
func (silentMeter) Started(work.Lane, int, int, int)                {}
func (silentMeter) Recovered(work.Recovery)                         {}
func (silentMeter) Count(work.Emission)                             {}
