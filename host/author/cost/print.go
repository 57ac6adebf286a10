// SPDX-License-Identifier: MIT

package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes a report for people.
func (r *Report) Print(to io.Writer) error {
	fmt.Fprintf(to, "%s, %d tokens of a vocabulary of %d\n", r.Plugin, r.Tokens, r.Vocabulary)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  for a token\ton\tmedian\tp99\tmost fuel\tof the limit\n")
	for _, list := range [][]Figure{r.Hooks, r.BuiltIn} {
		for _, c := range list {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t", c.Name, c.Input, short(c.Median), short(c.P99))
			if c.Limit > 0 {
				fmt.Fprintf(table, "%d\t%.3f%%", c.Fuel, 100*float64(c.Fuel)/float64(c.Limit))
			} else {
				fmt.Fprintf(table, "\t")
			}
			fmt.Fprintln(table)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if r.Memory.Opened == 0 {
		return nil
	}
	_, err := fmt.Fprintf(to, "  memory: %d KiB before the first token, and %d KiB more after %d\n", r.Memory.Opened>>10, (r.Memory.End-r.Memory.Opened)>>10, r.Tokens)
	return err
}

// short is a duration in a few digits.
func short(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d.Nanoseconds())/1000) }
