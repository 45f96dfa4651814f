package httpemitter

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/adjourn/adjourn/emitter"
)

const (
	userAgent          = "adjourn"
	contentTypeDefault = "application/octet-stream"
)

// request of one attempt. An empty payload has no body at all, so that it goes
// with a length of zero rather than in chunks, which some servers refuse.
func (target *Emitter) request(ctx context.Context, message emitter.Message, body *payload) *http.Request {
	request := &http.Request{
		Method: http.MethodPost, URL: target.url, Host: target.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: target.header(message), ContentLength: int64(len(message.Payload)),
	}
	if len(message.Payload) > 0 {
		request.Body = body
	}
	return request.WithContext(ctx)
}

func (target *Emitter) header(message emitter.Message) http.Header {
	header := http.Header{}
	header.Set("Adjourn-Work", strconv.FormatInt(message.WorkID, 10))
	header.Set("Adjourn-Flow", message.Flow)
	header.Set("Adjourn-Lane", message.Lane)
	header.Set("Adjourn-Stream", message.Stream)
	header.Set("Adjourn-Number", strconv.FormatInt(message.Number, 10))
	header.Set("Content-Type", cmp.Or(message.ContentType, contentTypeDefault))
	header.Set("Idempotency-Key", message.IdempotencyKey)
	header.Set("User-Agent", userAgent)
	target.authorize(header)
	return header
}

// misfit names the part of a message that no header can carry; empty when all
// fit.
func misfit(message emitter.Message) string {
	for _, part := range []struct{ name, value string }{
		{"content type", message.ContentType},
		{"flow", message.Flow},
		{"idempotency key", message.IdempotencyKey},
		{"lane", message.Lane},
		{"stream", message.Stream},
	} {
		if !fitsHeader(part.value) {
			return part.name
		}
	}
	return ""
}

// fitsHeader refuses the control characters: a line break would forge a header.
func fitsHeader(value string) bool {
	return !strings.ContainsFunc(value, func(char rune) bool { return char < ' ' || char == 0x7f })
}
