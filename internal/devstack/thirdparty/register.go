package thirdparty

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// register is what the third party knows: who arrived, what was accepted, how it
// behaves. Safe for concurrent use.
type register struct {
	mutex sync.Mutex
	// arrivals is only ever appended to, so a snapshot shares it.
	arrivals []Arrival
	// changed is closed and replaced at each arrival.
	changed chan struct{}
	// references by idempotency key, of what took effect.
	references map[string]string
	accepted   int
	behaviours map[string]Behaviour
	log        *os.File // nil without a file
	logErr     error
}

// openRegister continues the log at path, if any.
func openRegister(path string) (*register, error) {
	book := &register{
		changed:    make(chan struct{}),
		references: map[string]string{},
		behaviours: map[string]Behaviour{},
	}
	if path == "" {
		return book, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of arrivals: %w", err)
	}
	if err := book.restore(file); err != nil {
		return nil, errors.Join(fmt.Errorf("read the log of arrivals %s: %w", path, err), file.Close())
	}
	book.log = file
	return book, nil
}

// restore reads a kept log and leaves the file at its end. A last line without
// its end, as a killed process leaves it, is cut off.
func (book *register) restore(file *os.File) error {
	reader := bufio.NewReader(file)
	var whole int64
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var arrival Arrival
		if err := json.Unmarshal(line, &arrival); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		whole += int64(len(line))
		book.arrivals = append(book.arrivals, arrival)
		if arrival.Effect {
			book.accept(arrival.IdempotencyKey)
		}
	}
	if err := file.Truncate(whole); err != nil {
		return err
	}
	_, err := file.Seek(whole, io.SeekStart)
	return err
}

// admit logs one arrival and decides everything about it at once: the order of
// the log is the order of the decisions.
func (book *register) admit(header http.Header) (behaviour Behaviour, reference string) {
	arrival := arrivalOf(header)
	book.mutex.Lock()
	defer book.mutex.Unlock()
	behaviour = book.choose(arrival.Lane)
	arrival.Answer = behaviour.status()
	if behaviour.accepts() {
		reference, arrival.Effect = book.accept(arrival.IdempotencyKey)
	}
	arrival.At = time.Now().UTC()
	book.arrivals = append(book.arrivals, arrival)
	book.write(arrival)
	close(book.changed)
	book.changed = make(chan struct{})
	return behaviour, reference
}

// choose takes the lane's own behaviour, else everybody's, and counts its use.
func (book *register) choose(lane string) Behaviour {
	for _, scope := range []string{lane, ""} {
		behaviour, there := book.behaviours[scope]
		if !there {
			continue
		}
		switch behaviour.Requests {
		case 0: // for all
		case 1:
			delete(book.behaviours, scope)
		default:
			behaviour.Requests--
			book.behaviours[scope] = behaviour
		}
		return behaviour
	}
	return Behaviour{Kind: KindAccept}
}

// accept gives the key's reference and whether it is new. Without a key nothing
// can be recognised, and everything is new.
func (book *register) accept(key string) (reference string, effect bool) {
	if reference, there := book.references[key]; there && key != "" {
		return reference, false
	}
	book.accepted++
	reference = fmt.Sprintf("TP-%06d", book.accepted)
	book.references[key] = reference
	return reference, true
}

// write appends to the file. The first failure is kept for close: the answer to
// the client is not the place to report it.
func (book *register) write(arrival Arrival) {
	if book.log == nil || book.logErr != nil {
		return
	}
	line, err := json.Marshal(arrival)
	if err == nil {
		_, err = book.log.Write(append(line, '\n'))
	}
	if err != nil {
		book.logErr = fmt.Errorf("log an arrival: %w", err)
	}
}

// snapshot is the arrivals so far and a channel that closes at the next one.
func (book *register) snapshot() ([]Arrival, <-chan struct{}) {
	book.mutex.Lock()
	defer book.mutex.Unlock()
	return slices.Clip(book.arrivals), book.changed
}

func (book *register) behave(behaviour Behaviour) {
	if behaviour.Kind == "" {
		behaviour.Kind = KindAccept
	}
	book.mutex.Lock()
	defer book.mutex.Unlock()
	book.behaviours[behaviour.Lane] = behaviour
}

func (book *register) reset() {
	book.mutex.Lock()
	defer book.mutex.Unlock()
	clear(book.behaviours)
}

func (book *register) inForce() []Behaviour {
	book.mutex.Lock()
	defer book.mutex.Unlock()
	behaviours := make([]Behaviour, 0, len(book.behaviours))
	for _, behaviour := range book.behaviours {
		behaviours = append(behaviours, behaviour)
	}
	slices.SortFunc(behaviours, func(a, b Behaviour) int { return strings.Compare(a.Lane, b.Lane) })
	return behaviours
}

// close ends the log and reports what could not be written to it.
func (book *register) close() error {
	book.mutex.Lock()
	defer book.mutex.Unlock()
	if book.log == nil {
		return nil
	}
	err := errors.Join(book.logErr, book.log.Close())
	book.log = nil
	return err
}
