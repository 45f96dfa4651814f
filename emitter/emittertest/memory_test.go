package emittertest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	emittertest.Run(t, func(*testing.T) emittertest.Subject {
		memory := &emittertest.Memory{}
		return emittertest.Subject{
			Emitter: memory,
			Arrivals: func() (arrivals []emittertest.Arrival) {
				for _, message := range memory.Messages() {
					arrivals = append(arrivals, emittertest.Arrival{
						Stream: message.Stream, Number: message.Number, Payload: message.Payload,
					})
				}
				return arrivals
			},
		}
	})
}

func TestMemoryAnswersAsTold(t *testing.T) {
	t.Parallel()
	want := emitter.Outcome{Verdict: emitter.Rejected, Status: 422, Detail: "answered 422"}
	memory := &emittertest.Memory{
		Answer: func(context.Context, emitter.Message) emitter.Outcome { return want },
	}
	require.Equal(t, want, memory.Emit(t.Context(), emittertest.NewMessage(3)))
	require.Len(t, memory.Messages(), 1)
}
