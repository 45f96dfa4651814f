package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Flows maps each governed flow to true (enforce) or false (observe).
type Flows map[string]bool

// Decode reads a list such as invoice:true,status:false.
func (flows *Flows) Decode(text string) error {
	read, err := decodePairs(text, func(value string) (bool, error) {
		enforce, err := strconv.ParseBool(value)
		if err != nil {
			return false, fmt.Errorf("%.80q is neither true nor false", value)
		}
		return enforce, nil
	})
	if err != nil {
		return err
	}
	*flows = read
	return nil
}

// Enforced lists the flows that wait without a slot, sorted.
func (flows Flows) Enforced() []string { return namesWith(flows, true) }

// FlowNames is a list of flows, each named once.
type FlowNames []string

// Decode reads a list such as ack,receipt.
func (names *FlowNames) Decode(text string) error {
	read := strings.Split(text, ",")
	for i, name := range read {
		if err := checkFlow(name); err != nil {
			return err
		}
		if slices.Contains(read[:i], name) {
			return fmt.Errorf("flow %q is named twice", name)
		}
	}
	*names = read
	return nil
}

// Retry is how often a work of an exempt flow is attempted.
type Retry string

// The ways to retry.
const (
	// Unlimited attempts until one succeeds; flows that are not named do so too.
	Unlimited Retry = "unlimited"
	// None makes one attempt.
	None Retry = "none"
)

// Retries maps exempt flows to how they retry.
type Retries map[string]Retry

// Decode reads a list such as ack:unlimited,status:none.
func (retries *Retries) Decode(text string) error {
	read, err := decodePairs(text, func(value string) (Retry, error) {
		if retry := Retry(value); retry == Unlimited || retry == None {
			return retry, nil
		}
		return "", fmt.Errorf("%.80q is neither %s nor %s", value, Unlimited, None)
	})
	if err != nil {
		return err
	}
	*retries = read
	return nil
}

// Once lists the flows whose works are attempted once, sorted.
func (retries Retries) Once() []string { return namesWith(retries, None) }

// Lanes is a list of lanes, each named once.
type Lanes []string

// The lanes, in the order of their default.
var laneNames = [...]string{"dispatch", "governed", "override", "exempt"}

// Decode reads a list such as dispatch,governed.
func (lanes *Lanes) Decode(text string) error {
	read := strings.Split(text, ",")
	for i, lane := range read {
		if !slices.Contains(laneNames[:], lane) {
			return fmt.Errorf("%.80q is no lane", lane)
		}
		if slices.Contains(read[:i], lane) {
			return fmt.Errorf("lane %q is named twice", lane)
		}
	}
	*lanes = read
	return nil
}

// decodePairs reads flow:value,flow:value. A flow named twice is refused even
// with equal values: one of the two was meant to be another flow.
func decodePairs[V any](text string, parse func(string) (V, error)) (map[string]V, error) {
	pairs := map[string]V{}
	for item := range strings.SplitSeq(text, ",") {
		flow, value, paired := strings.Cut(item, ":")
		if !paired {
			return nil, fmt.Errorf("item %.80q has no colon", item)
		}
		if err := checkFlow(flow); err != nil {
			return nil, err
		}
		if _, twice := pairs[flow]; twice {
			return nil, fmt.Errorf("flow %q is named twice", flow)
		}
		parsed, err := parse(value)
		if err != nil {
			return nil, fmt.Errorf("flow %q: %w", flow, err)
		}
		pairs[flow] = parsed
	}
	return pairs, nil
}

var flowPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)

func checkFlow(name string) error {
	if !flowPattern.MatchString(name) {
		return fmt.Errorf("flow name %.80q: a name is 1 to 64 of a-z, 0-9, _ . and -, "+
			"beginning with a letter or digit", name)
	}
	return nil
}

func namesWith[V comparable](pairs map[string]V, wanted V) []string {
	names := make([]string, 0, len(pairs))
	for name, value := range pairs {
		if value == wanted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
