package emittertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

// largePayloadBytes is well past every buffer between here and the third party.
const largePayloadBytes = 5 << 20

// concurrentEmissions is more than a chunk holds.
const concurrentEmissions = 64

// Run holds the emitter that begin returns to the contract. Each rule begins a
// subject of its own.
func Run(t *testing.T, begin func(t *testing.T) Subject) {
	t.Helper()
	for name, rule := range map[string]func(*testing.T, Subject){
		"OneArrivalPerWork":             oneArrivalPerWork,
		"ARepeatIsTheSame":              aRepeatIsTheSame,
		"EveryLane":                     everyLane,
		"EmptyPayload":                  emptyPayload,
		"EveryByte":                     everyByte,
		"LargePayload":                  largePayload,
		"PayloadIsNeitherKeptNorEdited": payloadIsNeitherKeptNorEdited,
		"SendByInThePast":               sendByInThePast,
		"SendByAhead":                   sendByAhead,
		"EndedContext":                  endedContext,
		"ContextEndsUnderway":           contextEndsUnderway,
		"ConcurrentUse":                 concurrentUse,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, begin(t))
		})
	}
}

// NewMessage returns a message that every emitter can carry, without a SendBy.
func NewMessage(number int64) emitter.Message {
	return emitter.Message{
		WorkID: 1000 + number, Flow: "invoice", Stream: "invoice-2026", Number: number,
		Lane: "governed", IdempotencyKey: fmt.Sprintf("order-%d", number),
		ContentType: "application/json", Payload: fmt.Appendf(nil, `{"order":%d}`, number),
	}
}

func requireEmitted(t *testing.T, subject Subject, message emitter.Message) emitter.Outcome {
	t.Helper()
	outcome := subject.Emitter.Emit(t.Context(), message)
	RequireWellFormed(t, outcome)
	require.Equal(t, emitter.Emitted, outcome.Verdict, "%+v", outcome)
	return outcome
}

// requireArrivals compares by number; payloads by content.
func requireArrivals(t *testing.T, subject Subject, messages ...emitter.Message) {
	t.Helper()
	arrivals := subject.Arrivals()
	slices.SortFunc(arrivals, func(a, b Arrival) int { return int(a.Number - b.Number) })
	require.Len(t, arrivals, len(messages))
	for i, message := range messages {
		requireSame(t, message, arrivals[i])
	}
}

func requireSame(t *testing.T, message emitter.Message, arrival Arrival) {
	t.Helper()
	require.Equal(t, message.Stream, arrival.Stream)
	require.Equal(t, message.Number, arrival.Number)
	require.True(t, bytes.Equal(message.Payload, arrival.Payload),
		"payload of number %d: got %d bytes, want %d", message.Number, len(arrival.Payload), len(message.Payload))
}

func oneArrivalPerWork(t *testing.T, subject Subject) {
	var messages []emitter.Message
	for number := range int64(10) {
		messages = append(messages, NewMessage(number+1))
		requireEmitted(t, subject, messages[number])
	}
	requireArrivals(t, subject, messages...)
}

// aRepeatIsTheSame: the third party can recognise a work that is emitted again
// (G5, G9).
func aRepeatIsTheSame(t *testing.T, subject Subject) {
	message := NewMessage(7)
	first := requireEmitted(t, subject, message)
	second := requireEmitted(t, subject, message)
	require.Equal(t, first.Reference, second.Reference)
	arrivals := subject.Arrivals()
	require.Contains(t, []int{1, 2}, len(arrivals))
	for _, arrival := range arrivals {
		requireSame(t, message, arrival)
	}
}

func everyLane(t *testing.T, subject Subject) {
	var messages []emitter.Message
	for i, lane := range []string{"governed", "override", "exempt"} {
		message := NewMessage(int64(i + 1))
		message.Lane = lane
		messages = append(messages, message)
		requireEmitted(t, subject, message)
	}
	requireArrivals(t, subject, messages...)
}

func emptyPayload(t *testing.T, subject Subject) {
	unset, empty := NewMessage(1), NewMessage(2)
	unset.Payload, unset.ContentType = nil, ""
	empty.Payload = []byte{}
	requireEmitted(t, subject, unset)
	requireEmitted(t, subject, empty)
	requireArrivals(t, subject, unset, empty)
}

func everyByte(t *testing.T, subject Subject) {
	message := NewMessage(1)
	message.Payload = nil
	for value := range 256 {
		message.Payload = append(message.Payload, byte(value), '\r', '\n')
	}
	requireEmitted(t, subject, message)
	requireArrivals(t, subject, message)
}

func largePayload(t *testing.T, subject Subject) {
	message := NewMessage(1)
	message.Payload = make([]byte, largePayloadBytes)
	_, _ = rand.NewChaCha8([32]byte{}).Read(message.Payload) // never fails
	requireEmitted(t, subject, message)
	requireArrivals(t, subject, message)
}

// payloadIsNeitherKeptNorEdited: a caller may use its buffer again; the race
// detector sees an emitter that still reads.
func payloadIsNeitherKeptNorEdited(t *testing.T, subject Subject) {
	message := NewMessage(1)
	message.Payload = bytes.Repeat([]byte("payload "), 1<<15)
	sum := sha256.Sum256(message.Payload)
	requireEmitted(t, subject, message)
	require.Equal(t, sum, sha256.Sum256(message.Payload))
	clear(message.Payload)
	require.Equal(t, sum, sha256.Sum256(subject.Arrivals()[0].Payload))
}

// sendByInThePast: no byte leaves, whatever the lane (G1).
func sendByInThePast(t *testing.T, subject Subject) {
	for _, late := range []time.Duration{time.Nanosecond, time.Second, 24 * time.Hour} {
		message := NewMessage(1)
		message.SendBy = time.Now().Add(-late)
		outcome := subject.Emitter.Emit(t.Context(), message)
		RequireWellFormed(t, outcome)
		require.Equal(t, emitter.Unsent, outcome.Verdict, "%+v", outcome)
		require.False(t, outcome.Spent())
	}
	require.Empty(t, subject.Arrivals())
	next := NewMessage(2)
	requireEmitted(t, subject, next)
	requireArrivals(t, subject, next)
}

func sendByAhead(t *testing.T, subject Subject) {
	message := NewMessage(1)
	message.SendBy = time.Now().Add(time.Minute)
	requireEmitted(t, subject, message)
	requireArrivals(t, subject, message)
}

func endedContext(t *testing.T, subject Subject) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, expired} {
		outcome := subject.Emitter.Emit(ctx, NewMessage(1))
		RequireWellFormed(t, outcome)
		require.Equal(t, emitter.Unsent, outcome.Verdict, "%+v", outcome)
	}
	require.Empty(t, subject.Arrivals())
}

// contextEndsUnderway: whenever the caller gives up, a slot is only kept if
// nothing arrived (G1).
func contextEndsUnderway(t *testing.T, subject Subject) {
	unsent := map[int64]bool{}
	for number := range int64(40) {
		ctx, cancel := context.WithCancel(t.Context())
		message := NewMessage(number + 1)
		message.Payload = bytes.Repeat([]byte{'x'}, 1<<14)
		timer := time.AfterFunc(time.Duration(number)*25*time.Microsecond, cancel)
		outcome := subject.Emitter.Emit(ctx, message)
		timer.Stop()
		cancel()
		RequireWellFormed(t, outcome)
		require.Contains(t, []emitter.Verdict{emitter.Emitted, emitter.Unsent, emitter.Uncertain},
			outcome.Verdict)
		unsent[message.Number] = !outcome.Spent()
	}
	requireEmitted(t, subject, NewMessage(100))
	for _, arrival := range subject.Arrivals() {
		require.False(t, unsent[arrival.Number], "number %d arrived but its slot was kept", arrival.Number)
	}
}

func concurrentUse(t *testing.T, subject Subject) {
	messages := make([]emitter.Message, concurrentEmissions)
	outcomes := make([]emitter.Outcome, concurrentEmissions)
	var emissions sync.WaitGroup
	for i := range messages {
		messages[i] = NewMessage(int64(i + 1))
		messages[i].Payload = []byte(strings.Repeat(fmt.Sprint(i, " "), 1000))
		emissions.Go(func() { outcomes[i] = subject.Emitter.Emit(t.Context(), messages[i]) })
	}
	emissions.Wait()
	for i, outcome := range outcomes {
		RequireWellFormed(t, outcome)
		require.Equal(t, emitter.Emitted, outcome.Verdict, "number %d: %+v", i+1, outcome)
	}
	requireArrivals(t, subject, messages...)
}
