// SPDX-License-Identifier: MIT

package dev

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// shown is how many candidates are listed.
const shown = 5

// Print writes a round for people.
func (r Round) Print(to io.Writer) error {
	if r.Error != "" {
		what := "not loaded, the last build stays"
		if r.Plugin != "" {
			what = r.Plugin + " is loaded, but the question was not answered"
		}
		_, err := fmt.Fprintf(to, "%s: %s\n", what, r.Error)
		return err
	}
	fmt.Fprintf(to, "%s: built in %.1f s, loaded in %.0f ms, asked in %.0f ms\n", r.Plugin, r.BuildMS/1000, r.LoadMS, r.AnswerMS)
	if r.Difference == nil {
		fmt.Fprintf(to, "  the answer is the same: %s\n", r.After)
	} else {
		fmt.Fprintf(to, "  before: %s\n  after:  %s\n", r.Before, r.After)
	}
	for _, o := range r.After.Outputs {
		fmt.Fprintf(to, "  output: %s\n", o)
	}
	return r.Difference.print(to)
}

// String is an answer in one line.
func (a *TracedAnswer) String() string {
	return fmt.Sprintf("%s [%s after %d tokens]", strconv.Quote(a.Text), a.Reason, len(a.Tokens))
}

// print tells where two answers part.
func (d *Difference) print(to io.Writer) error {
	if d == nil || d.Token == 0 {
		return nil
	}
	fmt.Fprintf(to, "  the first difference is token %d: %s before, %s after\n", d.Token, d.Before, d.After)
	for _, side := range []struct {
		name string
		part *Part
	}{{"before", d.Before}, {"after", d.After}} {
		if p := side.part; p != nil && p.Found != nil {
			fmt.Fprintf(to, "    %s: the plugin found %d candidates and left %d\n", side.name, p.Found.N, p.Left.N)
			if err := list(to, *p.Found, *p.Left); err != nil {
				return err
			}
		}
	}
	return nil
}

// String is the token, and who put it there.
func (p *Part) String() string {
	if p == nil {
		return "the end"
	}
	return fmt.Sprintf("%q by %s", p.Piece, p.By)
}

// list writes the most likely candidates side by side.
func list(to io.Writer, found, left Survey) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	for i := range shown {
		if line := []string{entry(found, i), entry(left, i)}; line[0]+line[1] != "" {
			fmt.Fprintf(table, "      %s\n", strings.Join(line, "\t"))
		}
	}
	return table.Flush()
}

func entry(s Survey, i int) string {
	if i >= len(s.Best) {
		return ""
	}
	return fmt.Sprintf("%5.1f%% %q", 100*s.Best[i].P, s.Best[i].Piece)
}
