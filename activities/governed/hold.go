package governed

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/log"
)

// holdTimeout bounds telling the arbiter of the third party's limit: the ending
// of the limited attempt waits for it.
const holdTimeout = 2 * time.Second

// holder tells the arbiter until when the third party asked to wait, at most
// once per second of difference and chunk: all works of a chunk tend to be
// limited together. A hold that fails costs other works a refused attempt each,
// never this chunk.
func (activities *Activities) holder(logger log.Logger) func(context.Context, time.Time) {
	var mu sync.Mutex
	var told time.Time
	return func(ctx context.Context, until time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if until.Before(told.Add(time.Second)) {
			return
		}
		told = until
		ctx, cancel := context.WithTimeout(ctx, holdTimeout)
		defer cancel()
		if err := activities.Arbiter.Hold(ctx, until); err != nil {
			activities.Meter.HoldFailed()
			logger.Warn("the third party asked to wait, but the arbiter could not be told",
				"until", until, "error", err)
		}
	}
}
