package httpemitter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/adjourn/adjourn/emitter"
)

// answered is the outcome of an attempt whose status is known.
func (target *Emitter) answered(ctx context.Context, attempt *attempt, response *http.Response) emitter.Outcome {
	defer func() { _ = response.Body.Close() }() // what it says changes nothing
	verdict, retryAfter := target.judge(response, time.Now())
	var cutShort error
	if verdict == emitter.Emitted {
		// Before the body: at its end net/http gives up on sending the rest.
		cutShort = attempt.awaitWritten(ctx)
	}
	body := target.readBody(response)
	if !attempt.settle(errOver) {
		return target.unsent(fmt.Errorf("status %d came before anything was sent", response.StatusCode))
	}
	outcome := emitter.Outcome{
		Verdict: verdict, Status: response.StatusCode, RetryAfter: retryAfter,
		Answer: target.text(body, emitter.AnswerBytesMax),
	}
	switch {
	case cutShort != nil:
		outcome.Verdict = emitter.Uncertain
		outcome.Detail = fmt.Sprintf("answered %d before the work was sent whole", response.StatusCode)
	case verdict == emitter.Emitted:
		outcome.Reference = target.text(reference(response.Header, body), emitter.ReferenceBytesMax)
	default:
		outcome.Detail = strings.TrimSpace(fmt.Sprintf("answered %d %s",
			response.StatusCode, http.StatusText(response.StatusCode)))
	}
	return outcome
}

// judge is the table of what each status means. What no rule names is uncertain.
func (target *Emitter) judge(response *http.Response, now time.Time) (emitter.Verdict, time.Duration) {
	status := response.StatusCode
	delay, usable := retryAfter(response.Header, now, target.options.RetryAfterMax)
	switch {
	case status >= 200 && status < 300:
		return emitter.Emitted, 0
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && usable:
		return emitter.Limited, delay
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return emitter.Uncertain, 0
	case status >= 100 && status < 500:
		return emitter.Rejected, 0
	}
	return emitter.Uncertain, 0
}

// readBody reads up to the bound; errors end it early, because the status has
// decided. Reading to the end lets the connection be reused. The body of a 101
// is the connection itself: nothing is to be read there.
func (target *Emitter) readBody(response *http.Response) string {
	if response.StatusCode == http.StatusSwitchingProtocols {
		return ""
	}
	var body strings.Builder
	// One byte more than is kept, so that a body of just the bound ends here.
	_, _ = io.Copy(&body, io.LimitReader(response.Body, target.options.ResponseBytesMax+1))
	return body.String()
}

// reference is the third party's name for the work: the field "reference" or
// "id" of a JSON object, a text or a number, else the Location header.
func reference(header http.Header, body string) string {
	var fields struct {
		Reference json.RawMessage `json:"reference"`
		ID        json.RawMessage `json:"id"`
	}
	if json.Unmarshal([]byte(body), &fields) == nil {
		for _, field := range []json.RawMessage{fields.Reference, fields.ID} {
			if name := scalar(field); name != "" {
				return name
			}
		}
	}
	return printable(header.Get("Location"))
}

// scalar is the text of a JSON string or number; empty for anything else.
func scalar(field json.RawMessage) string {
	var text string
	if json.Unmarshal(field, &text) == nil {
		return printable(text)
	}
	var number json.Number
	if json.Unmarshal(field, &number) == nil {
		return number.String()
	}
	return ""
}

func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(char rune) rune {
		if unicode.IsControl(char) {
			return -1
		}
		return char
	}, text))
}
