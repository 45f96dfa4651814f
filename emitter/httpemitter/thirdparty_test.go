package httpemitter

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// liveness bounds what must happen at all; nothing asserts on speed.
const liveness = 20 * time.Second

// request is one that a third party has read whole.
type request struct {
	http.Request
	payload []byte
}

// ledger lists requests as they arrive.
type ledger struct {
	mutex    sync.Mutex
	requests []request
	arrived  chan struct{}
}

func newLedger() *ledger { return &ledger{arrived: make(chan struct{}, 1000)} }

func (ledger *ledger) enter(read *http.Request) error {
	payload, err := io.ReadAll(read.Body)
	if err != nil {
		return err
	}
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	ledger.requests = append(ledger.requests, request{Request: *read, payload: payload})
	ledger.arrived <- struct{}{}
	return nil
}

func (ledger *ledger) all() []request {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	return slices.Clone(ledger.requests)
}

func (ledger *ledger) arrivals() (arrivals []emittertest.Arrival) {
	for _, entry := range ledger.all() {
		number, _ := strconv.ParseInt(entry.Header.Get("Adjourn-Number"), 10, 64)
		arrivals = append(arrivals, emittertest.Arrival{
			Stream: entry.Header.Get("Adjourn-Stream"), Number: number, Payload: entry.payload,
		})
	}
	return arrivals
}

// requireNumbers checks which works arrived, in order, once for each mention.
func (ledger *ledger) requireNumbers(t *testing.T, want ...int64) {
	t.Helper()
	got := []int64{}
	for _, arrival := range ledger.arrivals() {
		got = append(got, arrival.Number)
	}
	require.Equal(t, append([]int64{}, want...), got)
}

// party is a third party over net/http.
type party struct {
	*httptest.Server
	*ledger
	mutex       sync.Mutex
	connections int
}

func (party *party) connected() int {
	party.mutex.Lock()
	defer party.mutex.Unlock()
	return party.connections
}

// newParty answers with answer after it has listed a request; nil answers 200.
func newParty(t *testing.T, answer http.HandlerFunc) *party {
	t.Helper()
	party := prepareParty(t, answer)
	party.Start()
	return party
}

func newTLSParty(t *testing.T, answer http.HandlerFunc, prepare func(*httptest.Server)) *party {
	t.Helper()
	party := prepareParty(t, answer)
	if prepare != nil {
		prepare(party.Server)
	}
	party.StartTLS()
	return party
}

func prepareParty(t *testing.T, answer http.HandlerFunc) *party {
	party := &party{ledger: newLedger()}
	party.Server = httptest.NewUnstartedServer(http.HandlerFunc(
		func(writer http.ResponseWriter, read *http.Request) {
			if party.enter(read) == nil && answer != nil {
				answer(writer, read)
			}
		}))
	party.Config.ErrorLog = silent()
	party.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			party.mutex.Lock()
			party.connections++
			party.mutex.Unlock()
		}
	}
	t.Cleanup(party.Close)
	return party
}

// wire is a third party that sees bare connections.
type wire struct {
	*ledger
	URL string
	// sockets delivers each connection as it is accepted.
	sockets chan net.Conn
	// over is closed when the test ends.
	over chan struct{}
}

// newWire runs serve for each connection, and closes it afterwards.
func newWire(t *testing.T, serve func(*wire, net.Conn)) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	party := &wire{
		ledger: newLedger(), URL: "http://" + listener.Addr().String(),
		sockets: make(chan net.Conn, 1000), over: make(chan struct{}),
	}
	var serving sync.WaitGroup
	var mutex sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			mutex.Lock()
			open = append(open, socket)
			mutex.Unlock()
			party.sockets <- socket
			serving.Go(func() {
				defer func() { _ = socket.Close() }()
				serve(party, socket)
			})
		}
	})
	t.Cleanup(func() {
		close(party.over)
		_ = listener.Close()
		mutex.Lock()
		for _, socket := range open {
			_ = socket.Close()
		}
		mutex.Unlock()
		serving.Wait()
	})
	return party
}

// read lists the next request of a connection; false when there is none.
func (party *wire) read(reader *bufio.Reader) bool {
	read, err := http.ReadRequest(reader)
	return err == nil && party.enter(read) == nil
}

// answering reads one request of each connection and answers with raw bytes.
func answering(raw string) func(*wire, net.Conn) {
	return func(party *wire, socket net.Conn) {
		if party.read(bufio.NewReader(socket)) {
			_, _ = io.WriteString(socket, raw)
		}
	}
}

// newTarget is an emitter to URL, without a proxy.
func newTarget(t *testing.T, options Options) *Emitter {
	t.Helper()
	target, err := newEmitter(options, noProxy)
	require.NoError(t, err)
	t.Cleanup(target.Close)
	return target
}

// emit sends work number and checks the outcome's form.
func emit(t *testing.T, target *Emitter, number int64) emitter.Outcome {
	t.Helper()
	return emitMessage(t, target, emittertest.NewMessage(number))
}

func emitMessage(t *testing.T, target *Emitter, message emitter.Message) emitter.Outcome {
	t.Helper()
	outcome := target.Emit(t.Context(), message)
	emittertest.RequireWellFormed(t, outcome)
	return outcome
}

func requireVerdict(t *testing.T, want emitter.Verdict, got emitter.Outcome) {
	t.Helper()
	require.Equal(t, want, got.Verdict, "%+v", got)
}
