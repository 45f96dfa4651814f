package thirdparty

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind is what a behaviour does with an emission.
type Kind string

// The kinds.
const (
	// KindAccept answers 200 with a reference.
	KindAccept Kind = "accept"
	// KindAnswer answers with the behaviour's status.
	KindAnswer Kind = "answer"
	// KindHang never answers; the connection is closed when the behaviour's time
	// is over, the client leaves or the third party stops.
	KindHang Kind = "hang"
	// KindCutBeforeStatus resets the connection without an answer.
	KindCutBeforeStatus Kind = "cut_before_status"
	// KindCutAfterStatus breaks off in the middle of the answer.
	KindCutAfterStatus Kind = "cut_after_status"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{KindAccept, KindAnswer, KindHang, KindCutBeforeStatus, KindCutAfterStatus}
}

// Behaviour is how emissions are treated. The zero value accepts everything. Its
// JSON form has the same fields in snake case, durations as "1m30s".
type Behaviour struct {
	// Kind of treatment; empty means [KindAccept].
	Kind Kind
	// Status to answer with, from 200 to 599; zero means 200. For KindAnswer and
	// KindCutAfterStatus.
	Status int
	// RetryAfter is sent as the Retry-After header as it is, sense or nonsense;
	// empty sends none. For KindAnswer.
	RetryAfter string
	// Latency passes before the treatment; zero means none.
	Latency time.Duration
	// For is how long KindHang lasts; zero means until the client leaves.
	For time.Duration
	// Lane limits the behaviour to one lane; empty means all of them.
	Lane string
	// Requests is how many emissions are treated so; zero means all of them.
	Requests int
	// AcceptsAnyway has the work take effect although the client learns nothing of
	// it. For KindHang and KindCutBeforeStatus.
	AcceptsAnyway bool
}

// lanes are the values of [Behaviour.Lane].
func lanes() []string { return []string{"governed", "override", "exempt"} }

// status is what the client sees; zero when it sees none.
func (behaviour Behaviour) status() int {
	switch behaviour.Kind {
	case KindHang, KindCutBeforeStatus:
		return 0
	case KindAnswer, KindCutAfterStatus:
		return cmp.Or(behaviour.Status, http.StatusOK)
	default:
		return http.StatusOK
	}
}

// accepts tells whether the work takes effect.
func (behaviour Behaviour) accepts() bool {
	return behaviour.AcceptsAnyway || behaviour.status()/100 == 2
}

// validate names every field whose value is not accepted.
func (behaviour Behaviour) validate() error {
	var errs []error
	refuse := func(field string, value any, accepted string) {
		errs = append(errs, fmt.Errorf("behaviour %s %q: accepted are %s", field, fmt.Sprint(value), accepted))
	}
	kind := behaviour.Kind
	if kind != "" && !slices.Contains(Kinds(), kind) {
		refuse("kind", kind, "accept, answer, hang, cut_before_status and cut_after_status")
	}
	answers := kind == KindAnswer || kind == KindCutAfterStatus
	if behaviour.Status != 0 && (!answers || behaviour.Status < 200 || behaviour.Status > 599) {
		refuse("status", behaviour.Status, "200 to 599, with the kinds answer and cut_after_status")
	}
	if behaviour.RetryAfter != "" && (kind != KindAnswer || strings.ContainsFunc(behaviour.RetryAfter, isControl)) {
		refuse("retry_after", behaviour.RetryAfter, "any text of one line, with the kind answer")
	}
	if behaviour.Latency < 0 {
		refuse("latency", behaviour.Latency, "zero and more")
	}
	if behaviour.For < 0 || behaviour.For > 0 && kind != KindHang {
		refuse("for", behaviour.For, "zero and more, with the kind hang")
	}
	if behaviour.Lane != "" && !slices.Contains(lanes(), behaviour.Lane) {
		refuse("lane", behaviour.Lane, "governed, override, exempt and none")
	}
	if behaviour.Requests < 0 {
		refuse("requests", behaviour.Requests, "zero and more")
	}
	if behaviour.AcceptsAnyway && kind != KindHang && kind != KindCutBeforeStatus {
		refuse("accepts_anyway", true, "true only with the kinds hang and cut_before_status")
	}
	return errors.Join(errs...)
}

func isControl(char rune) bool { return char < ' ' || char == 0x7F }

// wireBehaviour is a behaviour's JSON form.
type wireBehaviour struct {
	Kind          Kind   `json:"kind"`
	Status        int    `json:"status,omitempty"`
	RetryAfter    string `json:"retry_after,omitempty"`
	Latency       string `json:"latency,omitempty"`
	For           string `json:"for,omitempty"`
	Lane          string `json:"lane,omitempty"`
	Requests      int    `json:"requests,omitempty"`
	AcceptsAnyway bool   `json:"accepts_anyway,omitempty"`
}

// MarshalJSON writes durations as text.
func (behaviour Behaviour) MarshalJSON() ([]byte, error) {
	text := func(length time.Duration) string {
		if length == 0 {
			return ""
		}
		return length.String()
	}
	return json.Marshal(wireBehaviour{
		Kind:          behaviour.Kind,
		Status:        behaviour.Status,
		RetryAfter:    behaviour.RetryAfter,
		Latency:       text(behaviour.Latency),
		For:           text(behaviour.For),
		Lane:          behaviour.Lane,
		Requests:      behaviour.Requests,
		AcceptsAnyway: behaviour.AcceptsAnyway,
	})
}

// UnmarshalJSON reads durations from text and refuses unknown fields; the caller
// validates the values.
func (behaviour *Behaviour) UnmarshalJSON(text []byte) error {
	var wire wireBehaviour
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return err
	}
	latency, latencyErr := duration("latency", wire.Latency)
	limit, limitErr := duration("for", wire.For)
	if err := errors.Join(latencyErr, limitErr); err != nil {
		return err
	}
	*behaviour = Behaviour{
		Kind:          wire.Kind,
		Status:        wire.Status,
		RetryAfter:    wire.RetryAfter,
		Latency:       latency,
		For:           limit,
		Lane:          wire.Lane,
		Requests:      wire.Requests,
		AcceptsAnyway: wire.AcceptsAnyway,
	}
	return nil
}

func duration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("behaviour %s %q: accepted are durations such as 250ms or 1m30s", field, text)
	}
	return length, nil
}
