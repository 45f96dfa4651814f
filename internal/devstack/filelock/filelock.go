// Package filelock is an exclusive lock between processes that the system
// releases when its holder dies, however it dies.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// interval is how often a waiting process asks again.
const interval = 100 * time.Millisecond

// ErrHeld tells that another process, or another caller in this one, holds the
// lock.
var ErrHeld = errors.New("the lock is held by another process")

// Try takes the lock on the file at path, which it creates if need be, or
// returns [ErrHeld] at once. The caller must call unlock; the file stays.
func Try(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			// Closing releases the lock; nothing was written that could be lost.
			return func() { _ = file.Close() }, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(ErrHeld, file.Close())
		default:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
}

// Lock is [Try] that waits until ctx ends. It calls waiting once, if it has to
// wait at all.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for told := false; ; {
		unlock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return unlock, err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrHeld, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
