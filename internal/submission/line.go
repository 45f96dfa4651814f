package submission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adjourn/adjourn/work"
)

// fields are the names a line may use, in the order help shows them.
var fields = [...]string{
	"flow", "payload", "payload_file", "content_type",
	"deadline", "deadline_in", "idempotency_key", "stream",
}

// line is one object as it stands in the text; nil where a field is missing.
type line map[string]json.RawMessage

// parseLine splits one JSON object into its fields. Unlike encoding/json it
// refuses unknown and repeated names: a misspelt "deadline" must not become a
// work without one.
func parseLine(text []byte) (line, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the line is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("%s: accepted is one JSON object a line", quote(string(text)))
	}
	parsed := line{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		name, _ := token.(string) // inside an object the decoder yields only names here
		if !slices.Contains(fields[:], name) {
			return nil, unknownField(name)
		}
		if _, repeated := parsed[name]; repeated {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s: not JSON: %w", name, err)
		}
		parsed[name] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New(`not JSON: the object does not end with "}"`)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object: accepted is one JSON object a line")
	}
	return parsed, nil
}

func unknownField(name string) error {
	accepted := strings.Join(fields[:], ", ")
	if near := nearest(name, fields[:]); near != "" {
		return fmt.Errorf("unknown field %s: did you mean %s? Accepted are %s", quote(name), near, accepted)
	}
	return fmt.Errorf("unknown field %s: accepted are %s", quote(name), accepted)
}

// text is the string in a field; empty when the field is missing or null.
func (parsed line) text(name string) (string, error) {
	raw, there := parsed[name]
	if !there || string(raw) == "null" {
		return "", nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", fmt.Errorf("%s %s: accepted is a string", name, quote(string(raw)))
	}
	if value == "" {
		return "", fmt.Errorf(`%s "": leave the field out, or give it a value`, name)
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", fmt.Errorf("%s %s: control characters are not accepted", name, quote(value))
	}
	return value, nil
}

// submission checks what only a reader of text can check; the rest is the
// register's to refuse.
func (parsed line) submission(options Options) (work.Submission, error) {
	var texts [len(fields)]string
	for i, name := range fields {
		if name == "payload" {
			continue
		}
		text, err := parsed.text(name)
		if err != nil {
			return work.Submission{}, err
		}
		texts[i] = text
	}
	text := func(name string) string { return texts[slices.Index(fields[:], name)] }

	if text("flow") == "" {
		return work.Submission{}, errors.New("flow is missing: every work needs one")
	}
	deadline, err := ParseDeadline(text("deadline"), text("deadline_in"), options.Now)
	if err != nil {
		return work.Submission{}, err
	}
	payload, contentType, err := parsed.payload(text("payload_file"), options)
	if err != nil {
		return work.Submission{}, err
	}
	if given := text("content_type"); given != "" {
		contentType = given
	}
	return work.Submission{
		Flow: text("flow"), Payload: payload, Deadline: deadline,
		IdempotencyKey: text("idempotency_key"), Stream: text("stream"), ContentType: contentType,
	}, nil
}

func (parsed line) payload(file string, options Options) (payload []byte, contentType string, err error) {
	raw, inline := parsed["payload"]
	switch {
	case inline && file != "":
		return nil, "", errors.New("payload and payload_file stand together: accepted is one of the two")
	case inline && string(raw) == "null":
		return nil, "", errors.New("payload null: accepted is any other JSON value, or payload_file")
	case inline:
		return checkBytes(raw, "", options.PayloadBytesMax)
	case file == "":
		return nil, "", errors.New("payload is missing: accepted are payload or payload_file")
	}
	return readPayload(options.Files, file, options.PayloadBytesMax)
}

// ParseDeadline reads a deadline given as an instant or as a span from now; at
// most one of the two. Both empty is no deadline, the zero time.
func ParseDeadline(deadline, deadlineIn string, now time.Time) (time.Time, error) {
	switch {
	case deadline != "" && deadlineIn != "":
		return time.Time{}, errors.New("deadline and deadline_in stand together: accepted is one of the two")
	case deadline != "":
		instant, err := time.Parse(time.RFC3339, deadline)
		if err != nil {
			return time.Time{}, fmt.Errorf(
				`deadline %s: accepted is an instant with its offset, such as "2026-12-01T10:00:00Z"`, quote(deadline))
		}
		return instant, nil
	case deadlineIn != "":
		span, err := time.ParseDuration(deadlineIn)
		if err != nil || span < 0 {
			return time.Time{}, fmt.Errorf(
				`deadline_in %s: accepted are spans from now, such as "90s", "15m" or "48h"`, quote(deadlineIn))
		}
		return now.Add(span), nil
	}
	return time.Time{}, nil
}
