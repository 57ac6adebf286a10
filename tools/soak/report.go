// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// report is what a run has found.
type report struct {
	*soak
	before, peak, after resources
	took                time.Duration
}

// text is the report as Markdown.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %v. Seed %d, %d clients, %v: **%d requests**, none lost, none wrong.\n", time.Now().UTC().Format("2 January 2006"),
		bench.ThisMachine(), r.seed, r.clients, r.took.Round(time.Second), r.tally.sum())
	if r.ties > 0 {
		fmt.Fprintf(&b, "%d of %d questions were left out: their answers depend on a near tie.\n", r.ties, r.ties+len(r.questions))
	}
	fmt.Fprintf(&b, "\n| resource | before | at the peak | after |\n|---|---:|---:|---:|\n")
	for i, g := range gauges {
		peak := number(r.peak[i] / g.unit)
		if g.name == cells {
			peak = "" // is not looked at under load
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.name, number(r.before[i]/g.unit), peak, number(r.after[i]/g.unit))
	}
	fmt.Fprintf(&b, "\n| request | outcome | count |\n|---|---|---:|\n")
	for _, row := range r.tally.rows() {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", row.kind, row.end, row.n)
	}
	return b.String()
}

// number is short: whole where it is large or whole.
func number(x float64) string {
	if x == float64(int64(x)) {
		return fmt.Sprint(int64(x))
	}
	return fmt.Sprintf("%.1f", x)
}

// verdict is what is not as before.
func (r *report) verdict() error {
	if list := r.after.exceeds(r.before); len(list) > 0 {
		return fmt.Errorf("not everything was released within %v:\n  %s", settleWithin, strings.Join(list, "\n  "))
	}
	return nil
}

// The figures stand between these lines of a document.
const (
	figuresBegin = "<!-- figures: written by make soak -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// write puts the report into a document.
func (r *report) write(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(text, []byte(figuresBegin))
	_, tail, ends := bytes.Cut(rest, []byte(figuresEnd))
	if !ok || !ends {
		return fmt.Errorf("%s has no place for the figures, between %q and %q", path, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	return replaceFile(path, []byte(string(head)+figuresBegin+"\n"+r.text()+"\n"+figuresEnd+string(tail)))
}
