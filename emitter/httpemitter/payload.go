package httpemitter

import (
	"io"
	"sync"
)

// payload is a request's body. It cannot be rewound, which keeps net/http from
// sending it twice, and it can be taken away: net/http may go on reading after
// the answer, but the caller's bytes are the caller's again.
type payload struct {
	mutex sync.Mutex
	rest  []byte
	taken bool
}

// Read copies out the next bytes.
func (payload *payload) Read(into []byte) (int, error) {
	payload.mutex.Lock()
	defer payload.mutex.Unlock()
	if payload.taken {
		return 0, errOver
	}
	if len(payload.rest) == 0 {
		return 0, io.EOF
	}
	copied := copy(into, payload.rest)
	payload.rest = payload.rest[copied:]
	return copied, nil
}

// Close takes the bytes away; reading on is an error.
func (payload *payload) Close() error {
	payload.mutex.Lock()
	defer payload.mutex.Unlock()
	payload.rest, payload.taken = nil, true
	return nil
}
