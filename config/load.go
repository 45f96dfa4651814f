package config

import (
	"os"
	"slices"
	"strings"
)

// Load reads and checks the settings of this process's environment. Its error is
// an [*Error] with every problem. The Config beside an error is good for
// [Config.Describe] alone.
func Load() (Config, error) { return LoadFrom(os.Environ()) }

// LoadFrom reads settings from lines such as [os.Environ] returns; of two lines
// for one variable the later counts.
func LoadFrom(environ []string) (Config, error) {
	environment := parseEnvironment(environ)
	var config Config
	reader := reader{config: &config, environment: environment}
	for _, variable := range variablesOf(&config) {
		reader.read(variable)
	}
	reader.checkTogether()
	reader.refuseUnknownNames()
	if len(reader.problems) > 0 {
		reader.sortProblems()
		return config, &Error{Problems: reader.problems}
	}
	return config, nil
}

func parseEnvironment(environ []string) map[string]string {
	environment := make(map[string]string, len(environ))
	for _, line := range environ {
		if name, value, paired := strings.Cut(line, "="); paired {
			environment[name] = value
		}
	}
	return environment
}

// reader fills a Config and gathers what is wrong.
type reader struct {
	config      *Config
	environment map[string]string
	problems    []Problem
}

func (reader *reader) read(variable variable) {
	text, set := reader.environment[variable.name]
	origin := Environment
	if !set || text == "" && !variable.emptyCounts() {
		text, origin = variable.preset(), Default
	}
	reader.config.settings = append(reader.config.settings, Setting{
		Section: variable.section, Name: variable.name, Value: variable.shown(text),
		Default: variable.preset(), Origin: origin,
		Accepted: variable.accepted(), Meaning: variable.tag.Get("desc"), hides: variable.hider() != nil,
	})
	if text == "" {
		return // the field's zero value is "none"
	}
	if strings.TrimSpace(text) != text {
		reader.refuse(variable.name, "remove the white space around it")
		return
	}
	if err := variable.decode(text); err != nil {
		reader.refuse(variable.name, err.Error())
	}
}

// refuse adds a problem with a known setting.
func (reader *reader) refuse(name, detail string) {
	setting, _ := reader.config.setting(name)
	text, set := reader.environment[name]
	problem := Problem{Variable: name, Detail: detail, Accepted: setting.Accepted}
	switch {
	case setting.Origin == Default && setting.Value != "":
		problem.Value = quoted(setting.Value) + " (the default)"
	case !set:
		problem.Value = "is not set"
	case text == "":
		problem.Value = "is empty"
	case setting.hides:
		problem.Value = setting.Value
	default:
		problem.Value = quoted(text)
	}
	reader.problems = append(reader.problems, problem)
}

// sortProblems puts them in the order of the settings, unknown names last.
func (reader *reader) sortProblems() {
	position := func(problem Problem) int {
		at := slices.IndexFunc(reader.config.settings, func(setting Setting) bool {
			return setting.Name == problem.Variable
		})
		if at < 0 {
			return len(reader.config.settings)
		}
		return at
	}
	slices.SortStableFunc(reader.problems, func(a, b Problem) int { return position(a) - position(b) })
}

func (reader *reader) refused(name string) bool {
	for _, problem := range reader.problems {
		if problem.Variable == name {
			return true
		}
	}
	return false
}
