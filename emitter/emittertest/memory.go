package emittertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/adjourn/adjourn/emitter"
)

// Memory is an emitter whose third party is a list. Its zero value accepts
// everything. Safe for concurrent use.
type Memory struct {
	// Answer is the third party's; nil accepts. It is called once for each
	// message that leaves, after the message is listed, and may block.
	Answer func(ctx context.Context, message emitter.Message) emitter.Outcome

	mutex    sync.Mutex
	messages []emitter.Message
}

// Emit lists the message, unless it is too late or ctx has ended.
func (memory *Memory) Emit(ctx context.Context, message emitter.Message) emitter.Outcome {
	if !memory.list(ctx, message) {
		return emitter.Outcome{Verdict: emitter.Unsent, Detail: "too late or cancelled"}
	}
	if memory.Answer != nil {
		return memory.Answer(ctx, message)
	}
	return emitter.Outcome{Verdict: emitter.Emitted, Status: 200}
}

func (memory *Memory) list(ctx context.Context, message emitter.Message) bool {
	memory.mutex.Lock()
	defer memory.mutex.Unlock()
	if message.TooLate(time.Now()) || ctx.Err() != nil {
		return false
	}
	message.Payload = slices.Clone(message.Payload)
	memory.messages = append(memory.messages, message)
	return true
}

// Messages that have left so far, in order.
func (memory *Memory) Messages() []emitter.Message {
	memory.mutex.Lock()
	defer memory.mutex.Unlock()
	return slices.Clone(memory.messages)
}
