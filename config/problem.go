package config

import (
	"strconv"
	"strings"
)

// Problem is one setting that cannot be used.
type Problem struct {
	// Variable is its name.
	Variable string
	// Value as it may be shown: quoted, or redacted, or "is not set".
	Value string
	// Detail says what is wrong with it; may be empty.
	Detail string
	// Accepted says what would do.
	Accepted string
}

// String is the problem on one line.
func (problem Problem) String() string {
	line := problem.Variable
	if problem.Value != "" {
		line += " " + problem.Value
	}
	if problem.Detail != "" {
		line += ": " + problem.Detail
	}
	if problem.Accepted != "" {
		line += "; accepted: " + problem.Accepted
	}
	return line
}

// Error is every problem of a configuration, in the order of the settings,
// unknown names last; there is at least one.
type Error struct{ Problems []Problem }

// Error has one line for each problem.
func (err *Error) Error() string {
	var lines strings.Builder
	lines.WriteString("the configuration cannot be used:")
	for _, problem := range err.Problems {
		lines.WriteString("\n  " + problem.String())
	}
	return lines.String()
}

// valueBytesMax bounds how much of a refused value an error repeats.
const valueBytesMax = 200

func quoted(value string) string {
	if len(value) > valueBytesMax {
		return strconv.Quote(value[:valueBytesMax]) + "…"
	}
	return strconv.Quote(value)
}
