package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes the report as a table, our figures on the left and the third
// party's log on the right, and the verdict below.
func (report Report) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\t\t\tour figures\t\t\t\t\tthird party's log\t\t\t")
	fmt.Fprintln(table, "window\tmode\tceiling\tgranted\twould defer\tdeferred\toverridden\texempt\t"+
		"governed\toverride\texempt\t")
	for _, window := range report.Windows {
		mode := "observe"
		if window.Enforced {
			mode = "enforce"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			window.WindowStart.UTC().Format(time.TimeOnly), mode, window.Ceiling,
			window.Granted, window.WouldDefer, window.Deferred, window.Overridden, window.Exempt,
			window.ThirdParty.Governed, window.ThirdParty.Override, window.ThirdParty.Exempt)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the windows: %w", err)
	}
	fmt.Fprintf(out, "\nsubmitted %d, emitted %d, pending %d, failed %d, sequence gaps %d, duplicate effects %d\n",
		report.Submitted, report.Emitted, report.Pending, report.Failed,
		report.SequenceGaps, report.DuplicateEffects)
	for _, problem := range report.Problems {
		fmt.Fprintf(out, "problem: %s\n", problem)
	}
	_, err := fmt.Fprintf(out, "verdict: %s\n", report.Verdict)
	return err
}
