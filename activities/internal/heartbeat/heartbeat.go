// Package heartbeat tells Temporal that an activity is alive while it waits for
// others.
package heartbeat

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// Every part of the heartbeat time-out one heartbeat is sent.
const part = 3

// Start sends heartbeats with what details returns until stop is called, which
// waits for the last one. Without a heartbeat time-out it sends none. ctx is the
// activity's.
func Start(ctx context.Context, details func() any) (stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		ticker := time.NewTicker(timeout / part)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, details())
			case <-quit:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		sender.Wait()
	})
}
