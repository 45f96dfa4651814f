package thirdparty

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
)

// controlBytesMax bounds a behaviour sent over HTTP.
const controlBytesMax = 64 << 10

// answer sends the behaviour's status; an acceptance carries its reference.
func answer(w http.ResponseWriter, behaviour Behaviour, reference string) {
	if behaviour.RetryAfter != "" {
		w.Header().Set("Retry-After", behaviour.RetryAfter)
	}
	if reference != "" {
		reply(w, behaviour.status(), map[string]string{"reference": reference})
		return
	}
	reply(w, behaviour.status(), map[string]string{"error": http.StatusText(behaviour.status())})
}

// reply sends value as JSON. A client that has left is no fault of ours.
func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// cut sends text as it is and breaks the connection off.
func cut(w http.ResponseWriter, text string) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the next best way to leave without an answer
	}
	reset(connection, buffered, text)
}

// reset drops every error: the connection is about to be broken on purpose.
func reset(connection net.Conn, buffered *bufio.ReadWriter, text string) {
	_, _ = buffered.WriteString(text)
	_ = buffered.Flush()
	if tcp, ok := connection.(*net.TCPConn); ok && text == "" {
		// Without lingering, closing resets. After a partial answer it would take
		// the answer back from a client that has not read it yet.
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

func (party *ThirdParty) listArrivals(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(w)
	for _, arrival := range party.Arrivals() {
		if err := encoder.Encode(arrival); err != nil {
			return // the client has left
		}
	}
}

func (party *ThirdParty) listBehaviours(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, party.Behaviours())
}

func (party *ThirdParty) setBehaviour(w http.ResponseWriter, r *http.Request) {
	var behaviour Behaviour
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, controlBytesMax)).Decode(&behaviour)
	if err == nil {
		err = party.Behave(behaviour)
	}
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	reply(w, http.StatusOK, party.Behaviours())
}

func (party *ThirdParty) dropBehaviours(w http.ResponseWriter, _ *http.Request) {
	party.Reset()
	reply(w, http.StatusOK, party.Behaviours())
}
