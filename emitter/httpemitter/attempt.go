package httpemitter

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/adjourn/adjourn/emitter"
)

// Why an attempt was ended from this side.
var (
	errTooLate  = errors.New("the last instant to send has passed")
	errTimeout  = errors.New("time-out")
	errRepeated = errors.New("connection lost before an answer")
	errOver     = errors.New("the attempt is over")
)

// stage is how far an attempt has come, towards the wire only.
type stage int

const (
	waiting stage = iota // nothing handed to the kernel
	leaving              // the first write is in the kernel's hands
	sent                 // bytes have left
	over                 // nothing has left, nothing will
)

// attempt decides whether bytes may leave, and knows whether any has. It is
// bound to one connection at most, once.
type attempt struct {
	// message without its payload.
	message emitter.Message
	// end ends the request's context with a cause.
	end context.CancelCauseFunc
	// written receives the result of sending the request whole.
	written chan error

	mutex sync.Mutex
	stage stage
	// reason is why nothing may leave any more, once over.
	reason error
	conn   *connection
	asked  bool
}

func newAttempt(message emitter.Message, end context.CancelCauseFunc) *attempt {
	message.Payload = nil
	return &attempt{message: message, end: end, written: make(chan error, 1)}
}

// watch ends the attempt when SendBy passes with nothing sent, so that its
// caller learns at once; what keeps late bytes back is leave. The caller must
// call stop.
func (attempt *attempt) watch(now time.Time) (stop func()) {
	if attempt.message.SendBy.IsZero() {
		return func() {}
	}
	timer := time.AfterFunc(attempt.message.SendBy.Sub(now), func() {
		if !attempt.settle(errTooLate) {
			attempt.end(errTooLate)
		}
	})
	return func() { timer.Stop() }
}

// trace hooks the attempt to the connection that net/http chooses for it.
func (attempt *attempt) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { attempt.ask() },
		GotConn: func(info httptrace.GotConnInfo) { attempt.bind(info.Conn) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			select {
			case attempt.written <- info.Err:
			default: // the first result stands
			}
		},
	})
}

// ask ends an attempt that wants a connection for the second time: net/http is
// about to repeat the request.
func (attempt *attempt) ask() {
	attempt.mutex.Lock()
	defer attempt.mutex.Unlock()
	if attempt.asked {
		attempt.end(errRepeated)
	}
	attempt.asked = true
}

// bind takes the connection. A second one is bound as well, so that it refuses
// this attempt's bytes, but never becomes the attempt's own.
func (attempt *attempt) bind(chosen net.Conn) {
	conn := wrapped(chosen)
	attempt.mutex.Lock()
	defer attempt.mutex.Unlock()
	if conn == nil {
		// Bytes that cannot be watched count as sent.
		attempt.stage = sent
		return
	}
	if attempt.conn == nil {
		attempt.conn = conn
	}
	if err := conn.bind(attempt); err != nil {
		attempt.end(err)
	}
}

// leave is asked by a connection before each write; nil lets it pass. Bytes
// count as sent before they leave: afterwards this process may be dead.
func (attempt *attempt) leave(conn *connection) error {
	attempt.mutex.Lock()
	defer attempt.mutex.Unlock()
	switch {
	case conn != attempt.conn:
		return errRepeated
	case attempt.stage == over:
		return attempt.reason
	case attempt.stage == waiting && attempt.message.TooLate(time.Now()):
		attempt.stage, attempt.reason = over, errTooLate
		return errTooLate
	case attempt.stage == waiting:
		attempt.stage = leaving
	}
	return nil
}

// left is told how a write ended. A first one that the kernel took nothing of
// was none.
func (attempt *attempt) left(written int, err error) {
	attempt.mutex.Lock()
	defer attempt.mutex.Unlock()
	if attempt.stage != leaving {
		return
	}
	attempt.stage = sent
	if written == 0 && err != nil {
		attempt.stage = waiting
	}
}

// settle fixes whether anything has left, for good: if nothing has, nothing will,
// for the reason given.
func (attempt *attempt) settle(reason error) (anySent bool) {
	attempt.mutex.Lock()
	defer attempt.mutex.Unlock()
	if attempt.stage == waiting {
		attempt.stage, attempt.reason = over, reason
	}
	return attempt.stage != over
}

// awaitWritten waits until the request was sent whole, or could not be.
func (attempt *attempt) awaitWritten(ctx context.Context) error {
	select {
	case err := <-attempt.written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
