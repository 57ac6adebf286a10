// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// markdown is a table of the results: Penstock's times, then how many times as fast as each of
// ggml's families that is.
func (b bench) markdown(instructions string, all []result) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s, %s: matrices of %d × %d, %d thread(s), %d rounds, load %s when the run ended.\n\n", instructions,
		time.Now().UTC().Format("2006-01-02"), b.width, b.results, b.threads, b.rounds, load())
	t.WriteString("| weights | rows |")
	for _, rows := range b.rows {
		fmt.Fprintf(&t, " %d |", rows)
	}
	t.WriteString("\n|---|---|" + strings.Repeat("---|", len(b.rows)) + "\n")
	for _, r := range all {
		for f, family := range r.families {
			if f == 0 {
				fmt.Fprintf(&t, "| %s | µs |", r.operation)
			} else {
				fmt.Fprintf(&t, "| | × %s |", family)
			}
			for i := range b.rows {
				if f == 0 {
					fmt.Fprintf(&t, " %.0f |", r.micros(i))
				} else {
					q := r.ratio(f, i)
					fmt.Fprintf(&t, " **%.2f** (%.2f–%.2f) |", q[1], q[0], q[2])
				}
			}
			t.WriteString("\n")
		}
	}
	return t.String()
}

// load is the system's load average over a minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
