package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// format is how a command prints its data.
type format string

const (
	tableFormat format = "table"
	jsonFormat  format = "json"
)

// String, Set and Type make format a flag that refuses everything else.
func (chosen *format) String() string { return string(*chosen) }

func (chosen *format) Set(text string) error {
	switch text {
	case string(tableFormat), string(jsonFormat):
	default:
		return fmt.Errorf("accepted are table and json")
	}
	*chosen = format(text)
	return nil
}

func (*format) Type() string { return "table|json" }

// addOutput gives a command the flag --output.
func addOutput(command *cobra.Command) *format {
	chosen := tableFormat
	command.Flags().VarP(&chosen, "output", "o", "how to print: table or json")
	mustComplete(command, "output", string(tableFormat), string(jsonFormat))
	return &chosen
}

// mustComplete lets the shell complete a flag from fixed values.
func mustComplete(command *cobra.Command, flag string, values ...string) {
	err := command.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that the caller did not define: found by any test
	}
}

// writeJSON prints value for programs: one indented document and a line end.
func writeJSON(writer io.Writer, value any) error {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := io.WriteString(writer, escapeUpperControls(document.String()))
	return err
}

// escapeUpperControls escapes what JSON leaves as it is although terminals obey
// it: DEL and the controls from U+0080 to U+009F.
func escapeUpperControls(text string) string {
	upper := func(r rune) bool { return r >= 0x7f && unicode.IsControl(r) }
	if !strings.ContainsFunc(text, upper) {
		return text
	}
	var escaped strings.Builder
	for _, r := range text {
		if upper(r) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.String()
}

// table prints rows in aligned columns. Cells are made printable: a flow's name
// or a third party's answer must not drive the terminal.
type table struct {
	// title stands above the table after an empty line; none when empty.
	title  string
	header []string
	rows   [][]string
}

func (table *table) add(cells ...string) { table.rows = append(table.rows, cells) }

func (table *table) write(writer io.Writer) error {
	aligned := tabwriter.NewWriter(writer, 0, 0, 2, ' ', tabwriter.DiscardEmptyColumns)
	if table.title != "" {
		fmt.Fprintf(writer, "\n%s\n", table.title)
	}
	rows := table.rows
	if len(table.header) > 0 {
		rows = append([][]string{table.header}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(aligned, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return aligned.Flush()
}

// printable escapes everything a terminal could obey: controls, line ends, and
// the invisible characters that reorder text.
func printable(text string) string {
	plain := func(r rune) bool { return r != unicode.ReplacementChar && unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// printableLines is printable that keeps line ends.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// instant prints a point in time in UTC; "-" for none.
func instant(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// orDash prints a value that may be missing.
func orDash[T ~string](value T) string {
	if value == "" {
		return "-"
	}
	return string(value)
}
