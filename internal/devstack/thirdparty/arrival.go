package thirdparty

import (
	"net/http"
	"strconv"
	"time"
)

// The headers that Adjourn's emitter sends with every attempt.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderWork           = "Adjourn-Work"
	HeaderFlow           = "Adjourn-Flow"
	HeaderLane           = "Adjourn-Lane"
	HeaderStream         = "Adjourn-Stream"
	HeaderNumber         = "Adjourn-Number"
)

// Arrival is one attempt as the third party saw it.
type Arrival struct {
	// At is when the headers had been read, in UTC, on this process's clock.
	At time.Time `json:"at"`
	// Work, Flow, Lane, Stream and IdempotencyKey are the headers' text; empty when
	// the client sent none.
	Work string `json:"work"`
	Lane string `json:"lane"`
	Flow string `json:"flow"`
	// Stream and Number are the sequence number; zero when the client sent none or
	// no number.
	Stream         string `json:"stream"`
	Number         int64  `json:"number"`
	IdempotencyKey string `json:"idempotency_key"`
	// Answer is the status decided on arrival; zero when the client sees none.
	Answer int `json:"answer"`
	// Effect tells that the third party accepted the work for the first time.
	Effect bool `json:"effect"`
}

// arrivalOf reads the headers alone.
func arrivalOf(header http.Header) Arrival {
	// Not a number means none: the third party logs what comes and judges nothing.
	number, _ := strconv.ParseInt(header.Get(HeaderNumber), 10, 64)
	return Arrival{
		Work:           header.Get(HeaderWork),
		Lane:           header.Get(HeaderLane),
		Flow:           header.Get(HeaderFlow),
		Stream:         header.Get(HeaderStream),
		Number:         number,
		IdempotencyKey: header.Get(HeaderIdempotencyKey),
	}
}
