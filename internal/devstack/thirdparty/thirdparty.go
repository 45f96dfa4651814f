// Package thirdparty simulates whom Adjourn emits to: a real HTTP server that
// logs every arrival, remembers what it has accepted, and misbehaves on demand.
//
// It is the witness of demonstrations and tests: what it saw is independent of
// Adjourn's own counters. An arrival is logged the moment its headers are read,
// before the body, because that is when a third party counts an attempt; whether
// it answers, and what, changes nothing about that.
//
// Like a good third party it accepts one work once: the first acceptance of an
// idempotency key takes effect, a repeat is answered the same and has none. It
// books a work by its headers; the body is read and dropped.
//
//	POST /control     sets a [Behaviour], as JSON
//	GET /control      lists the behaviours in force, as a JSON array
//	DELETE /control   drops them all
//	GET /arrivals     every arrival so far, one JSON object a line
//	POST …            any other path is an emission
//
// Memory. Every arrival is kept until the end, about 300 bytes each, because a
// witness that forgets proves nothing: a million fit into 300 MB.
package thirdparty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of what one client may take up.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = time.Minute
	idleTimeout    = 2 * time.Minute
	bodyBytesMax   = 64 << 20
	headerBytesMax = 64 << 10
)

// Options are the choices of [Start]. The zero value keeps the log in memory
// alone and listens on a free port.
type Options struct {
	// Address to listen on; empty means a free port of 127.0.0.1.
	Address string
	// LogFile receives every arrival as one JSON object a line. A file that is
	// there is continued: its arrivals and what they took effect on are
	// remembered. Empty: no file.
	LogFile string
}

// ThirdParty is a running server. Its methods are safe for concurrent use.
type ThirdParty struct {
	// URL of the server, without a path: "http://127.0.0.1:4711".
	URL string

	register *register
	server   *http.Server
	listener net.Listener
	stopping chan struct{}
	served   chan struct{}
	exited   chan error

	stopOnce sync.Once
	stopErr  error
}

// Start listens and returns. The caller must call Stop.
func Start(options Options) (*ThirdParty, error) {
	book, err := openRegister(options.LogFile)
	if err != nil {
		return nil, fmt.Errorf("start the third party: %w", err)
	}
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", options.Address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the third party: %w", err), book.close())
	}
	party := &ThirdParty{
		URL:      "http://" + listener.Addr().String(),
		register: book,
		listener: listener,
		stopping: make(chan struct{}),
		served:   make(chan struct{}),
		exited:   make(chan error, 1),
	}
	party.server = &http.Server{
		Handler:           party.routes(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytesMax,
	}
	go party.serve()
	return party, nil
}

func (party *ThirdParty) serve() {
	defer close(party.served)
	defer close(party.exited)
	if err := party.server.Serve(party.listener); !errors.Is(err, http.ErrServerClosed) {
		party.exited <- fmt.Errorf("the third party ended by itself: %w", err)
	}
}

func (party *ThirdParty) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /arrivals", party.listArrivals)
	mux.HandleFunc("GET /control", party.listBehaviours)
	mux.HandleFunc("POST /control", party.setBehaviour)
	mux.HandleFunc("DELETE /control", party.dropBehaviours)
	mux.HandleFunc("POST /", party.receive)
	return mux
}

// receive takes one emission: logged first, then read, then answered as the
// behaviour in force wants it.
func (party *ThirdParty) receive(w http.ResponseWriter, r *http.Request) {
	behaviour, reference := party.register.admit(r.Header)
	// A client that leaves in the middle has arrived all the same. Reading to the
	// end also lets the server notice when it leaves later.
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, bodyBytesMax))
	if !party.pause(r.Context(), behaviour.Latency) {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	switch behaviour.Kind {
	case KindHang:
		party.hang(r.Context(), behaviour.For)
		panic(http.ErrAbortHandler)
	case KindCutBeforeStatus:
		cut(w, "")
	case KindCutAfterStatus:
		cut(w, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"refer",
			behaviour.status(), http.StatusText(behaviour.status())))
	case KindAccept, KindAnswer:
		answer(w, behaviour, reference)
	}
}

// pause tells whether the client and the server are both still there after it.
func (party *ThirdParty) pause(ctx context.Context, length time.Duration) bool {
	if length == 0 {
		return true
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-party.stopping:
		return false
	}
}

// hang waits for the client to leave, for the limit unless it is zero, or for
// Stop.
func (party *ThirdParty) hang(ctx context.Context, limit time.Duration) {
	if limit > 0 {
		party.pause(ctx, limit)
		return
	}
	select {
	case <-ctx.Done():
	case <-party.stopping:
	}
}

// Arrivals is every arrival so far, in order. The slice is shared: do not change
// it.
func (party *ThirdParty) Arrivals() []Arrival {
	arrivals, _ := party.register.snapshot()
	return arrivals
}

// WaitFor returns when enough is true of the arrivals so far, looking again at
// each new one, or when ctx or the third party ends. enough must not change the
// slice.
func (party *ThirdParty) WaitFor(ctx context.Context, enough func([]Arrival) bool) error {
	for {
		arrivals, changed := party.register.snapshot()
		if enough(arrivals) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for arrivals, %d so far: %w", len(arrivals), context.Cause(ctx))
		case <-party.stopping:
			return fmt.Errorf("wait for arrivals, %d so far: the third party was stopped", len(arrivals))
		}
	}
}

// Behave puts a behaviour in force until it is used up, replaced or dropped. One
// for a lane goes before the one for all; setting either leaves the other alone.
func (party *ThirdParty) Behave(behaviour Behaviour) error {
	if err := behaviour.validate(); err != nil {
		return err
	}
	party.register.behave(behaviour)
	return nil
}

// Reset drops every behaviour: everything is accepted again.
func (party *ThirdParty) Reset() { party.register.reset() }

// Behaviours lists what is in force, the one for all lanes first.
func (party *ThirdParty) Behaviours() []Behaviour { return party.register.inForce() }

// Exited carries one error if the server ends without Stop, and is closed when
// it has ended.
func (party *ThirdParty) Exited() <-chan error { return party.exited }

// Stop ends what hangs, lets the other answers finish within ctx, and closes the
// log. It returns an error when an arrival could not be logged. It may be called
// again.
func (party *ThirdParty) Stop(ctx context.Context) error {
	party.stopOnce.Do(func() {
		close(party.stopping)
		err := party.server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("stop the third party: %w", err), party.server.Close())
		}
		<-party.served
		party.stopErr = errors.Join(err, party.register.close())
	})
	return party.stopErr
}
