package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
)

// narrator tells what changed in the windows' figures since it last looked. It
// is not safe for concurrent use.
type narrator struct {
	out  io.Writer
	told map[figureKey]int64
}

// figureKey is one figure's place: the flows are told together.
type figureKey struct {
	windowStart time.Time
	flow        string
	decision    string
	reason      string
}

func newNarrator(out io.Writer) *narrator {
	return &narrator{out: out, told: make(map[figureKey]int64)}
}

// say prints one line under the clock of the database.
func (narrator *narrator) say(now time.Time, format string, arguments ...any) {
	fmt.Fprintf(narrator.out, "%s  %s\n", now.UTC().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

// tell prints a line for each decision whose figures grew, in a fixed order.
func (narrator *narrator) tell(now time.Time, length time.Duration, figures []quotapostgres.Figure) {
	grown := make(map[figureKey][]string) // by window, decision and reason; flows as text
	totals := make(map[figureKey]int64)
	for _, figure := range figures {
		key := figureKey{figure.WindowStart.UTC(), figure.Flow, figure.Decision, figure.Reason}
		more := figure.Count - narrator.told[key]
		if more <= 0 {
			continue
		}
		narrator.told[key] = figure.Count
		group := key
		group.flow = ""
		grown[group] = append(grown[group], fmt.Sprintf("%s %d", figure.Flow, more))
		totals[group] += more
	}
	for _, group := range sortedGroups(totals) {
		flows := grown[group]
		slices.Sort(flows)
		narrator.say(now, "  %-12s %4d  %s (%s)", group.decision, totals[group],
			meaning(group, group.windowStart.Add(length)), strings.Join(flows, ", "))
	}
}

func sortedGroups(totals map[figureKey]int64) []figureKey {
	order := []string{"granted", "would_defer", "deferred", "overridden", "exempt"}
	groups := make([]figureKey, 0, len(totals))
	for group := range totals {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b figureKey) int {
		if byWindow := a.windowStart.Compare(b.windowStart); byWindow != 0 {
			return byWindow
		}
		if byDecision := slices.Index(order, a.decision) - slices.Index(order, b.decision); byDecision != 0 {
			return byDecision
		}
		return strings.Compare(a.reason, b.reason)
	})
	return groups
}

// meaning says in a few words why a decision fell.
func meaning(group figureKey, windowEnd time.Time) string {
	switch group.decision {
	case "granted":
		return "earliest deadlines first, a slot each"
	case "would_defer":
		return "beyond the ceiling, emitted all the same: this flow only observes"
	case "deferred":
		return fmt.Sprintf("%s, pending as before, next chance at %s",
			group.reason, windowEnd.UTC().Format(time.TimeOnly))
	case "overridden":
		return "deadline closing: left past the quota, counted afterwards"
	case "exempt":
		return "never throttled: counted afterwards"
	default:
		return group.reason
	}
}
