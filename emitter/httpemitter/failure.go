package httpemitter

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/adjourn/adjourn/emitter"
)

// unanswered is the outcome when no answer came: whether the slot is spent was
// seen by the connection, the error only says why.
func (target *Emitter) unanswered(attempt *attempt, err error) emitter.Outcome {
	if !attempt.settle(errOver) {
		return target.unsent(err)
	}
	return emitter.Outcome{
		Verdict: emitter.Uncertain,
		Detail:  target.text("no answer: "+reasonAfterSending(err), emitter.DetailBytesMax),
	}
}

func (target *Emitter) unsent(err error) emitter.Outcome {
	return emitter.Outcome{
		Verdict: emitter.Unsent, Detail: target.text("not sent: "+err.Error(), emitter.DetailBytesMax),
	}
}

// reasonAfterSending never quotes what was read: net/http puts a malformed answer
// into its error, and that answer may echo the payload.
func reasonAfterSending(err error) string {
	var network *net.OpError
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded):
		return "time-out after sending"
	case errors.Is(err, context.Canceled):
		return "cancelled after sending"
	case errors.Is(err, errRepeated):
		return errRepeated.Error()
	case errors.As(err, &network):
		return network.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed before an answer"
	}
	return "connection closed or answer malformed"
}

// text is foreign text without secrets, within bounds.
func (target *Emitter) text(raw string, bytesMax int) string {
	return emitter.Text(target.redact(raw), bytesMax)
}
