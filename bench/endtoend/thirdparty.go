package endtoend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// body is what every contender posts for every work.
const body = `{"invoice":"F-1","amount":"120.00","currency":"EUR"}`

// thirdParty is the least a third party can do: it reads, counts and accepts.
type thirdParty struct {
	url     string
	arrived atomic.Int64
	server  *http.Server
}

func startThirdParty() (*thirdParty, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	party := &thirdParty{url: "http://" + listener.Addr().String() + "/works"}
	party.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if _, err := io.Copy(io.Discard, request.Body); err != nil {
				return // the caller went away: no arrival
			}
			party.arrived.Add(1)
			_, _ = io.WriteString(writer, `{"reference":"R-1"}`)
		}),
	}
	go func() { _ = party.server.Serve(listener) }() // ends with Close
	return party, nil
}

func (party *thirdParty) stop() { _ = party.server.Close() }

// newCaller is the HTTP client of the peers: the standard one with as many
// connections kept as it has callers, which is what a careful user sets.
func newCaller(connections int) *http.Client {
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute,
		},
	}
}

// call makes the peers' one attempt: the same method, body and key as ours.
func call(ctx context.Context, caller *http.Client, url, key string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := caller.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}
