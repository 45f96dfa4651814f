package devstack

import (
	"io"
	"sync"
)

// tailBytes is how much of a server's last words an error quotes.
const tailBytes = 4096

// tail passes a server's output on and remembers the end of it. Safe for
// concurrent use.
type tail struct {
	mutex sync.Mutex
	next  io.Writer
	last  []byte
}

// newTail passes everything on to next; nil drops it.
func newTail(next io.Writer) *tail {
	if next == nil {
		next = io.Discard
	}
	return &tail{next: next}
}

// Write never fails: a reader that went away must not stop a server.
func (t *tail) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, _ = t.next.Write(text)
	t.last = append(t.last, text...)
	if excess := len(t.last) - tailBytes; excess > 0 {
		t.last = append(t.last[:0], t.last[excess:]...)
	}
	return len(text), nil
}

// String is the last of what was written.
func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.last)
}
