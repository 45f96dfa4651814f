package config

import (
	"slices"
	"strings"
)

// prefixes are ours alone: a variable under one of them is meant for us.
var prefixes = [...]string{"QUOTA_", "CADENCE_", "DEADLINE_", "EMISSION_", "EMITTER_", "DISPATCH_", "ADJOURN_"}

// refuseUnknownNames refuses variables under our prefixes that are no settings,
// in any case of letters. Their values are not shown: one may be a secret.
func (reader *reader) refuseUnknownNames() {
	links := serviceLinks(reader.environment)
	var unknown []string
	for name := range reader.environment {
		ours := slices.ContainsFunc(prefixes[:], func(prefix string) bool {
			return strings.HasPrefix(strings.ToUpper(name), prefix)
		})
		_, known := reader.config.setting(name)
		if ours && !known && !isServiceLink(name, links) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		reader.problems = append(reader.problems, Problem{
			Variable: printable(name),
			Detail:   "no such setting; the nearest name is " + reader.nearest(strings.ToUpper(name)),
		})
	}
}

// serviceLinks lists the services whose addresses Kubernetes put into the
// environment: a service named "adjourn" brings ADJOURN_SERVICE_HOST,
// ADJOURN_PORT and more, which nobody typed.
func serviceLinks(environment map[string]string) []string {
	var services []string
	for name := range environment {
		if service, linked := strings.CutSuffix(name, "_SERVICE_HOST"); linked {
			services = append(services, service)
		}
	}
	return services
}

func isServiceLink(name string, services []string) bool {
	return slices.ContainsFunc(services, func(service string) bool {
		rest, found := strings.CutPrefix(name, service)
		return found && (rest == "_PORT" || strings.HasPrefix(rest, "_PORT_") || strings.HasPrefix(rest, "_SERVICE_"))
	})
}

// nearest known name to the one that was typed.
func (reader *reader) nearest(typed string) string {
	return slices.MinFunc(reader.config.settings, func(a, b Setting) int {
		return distance(typed, a.Name) - distance(typed, b.Name)
	}).Name
}

// distance is how far typed is from known: one for each missing letter, two for
// each that is too many. Names are shortened from memory more often than
// lengthened: QUOTA_CEILING means QUOTA_HOURLY_CEILING, not QUOTA_WINDOW.
func distance(typed, known string) int {
	common := commonLetters(typed, known)
	return len(known) - common + 2*(len(typed)-common)
}

// commonLetters is the length of the longest sequence found, in order but not
// necessarily together, in both names.
func commonLetters(a, b string) int {
	previous := make([]int, len(b)+1)
	for i := range len(a) {
		current := make([]int, len(b)+1)
		for j := range len(b) {
			if a[i] == b[j] {
				current[j+1] = previous[j] + 1
			} else {
				current[j+1] = max(previous[j+1], current[j])
			}
		}
		previous = current
	}
	return previous[len(b)]
}
