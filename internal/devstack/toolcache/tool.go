package toolcache

import (
	"fmt"
	"strings"
)

// Tool is one program pinned in tools/go.mod.
type Tool struct {
	// Name of the program, also the start of its file name.
	Name string
	// Package is the import path of its main package.
	Package string
	// Title says what is being built, for whoever waits.
	Title string
	// Patience says how long the first build takes on two cores.
	Patience string
}

// Temporal is the Temporal command line with the development server in it.
func Temporal() Tool {
	return Tool{
		Name:     "temporal",
		Package:  "github.com/temporalio/cli/cmd/temporal",
		Title:    "the Temporal dev server",
		Patience: "three to six minutes on two cores",
	}
}

// Tools lists every pinned program.
func Tools() []Tool {
	return []Tool{
		Temporal(),
		{
			Name:     "golangci-lint",
			Package:  "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
			Title:    "the linter",
			Patience: "about a minute on two cores",
		},
		{
			Name:     "workflowcheck",
			Package:  "go.temporal.io/sdk/contrib/tools/workflowcheck",
			Title:    "the check for workflow determinism",
			Patience: "a few seconds",
		},
		{
			Name:     "gremlins",
			Package:  "github.com/go-gremlins/gremlins/cmd/gremlins",
			Title:    "the mutation tester",
			Patience: "a few seconds",
		},
	}
}

// Find returns the pinned program of that name; the error of an unknown name
// lists the known ones.
func Find(name string) (Tool, error) {
	tools := Tools()
	known := make([]string, len(tools))
	for i, tool := range tools {
		if tool.Name == name {
			return tool, nil
		}
		known[i] = tool.Name
	}
	return Tool{}, fmt.Errorf("tool %q is not pinned in tools/go.mod: accepted are %s", name, strings.Join(known, ", "))
}
