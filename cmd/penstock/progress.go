// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// progress shows how much of a model is loaded: on a terminal as a bar that disappears at the end,
// elsewhere as plain lines.
type progress struct {
	out  io.Writer
	name string // of what is loaded
	bar  bool
	last int // percent shown; -1 before anything was
}

func newProgress(out io.Writer, name string) *progress {
	return &progress{out: out, name: name, bar: isTerminal(out), last: -1}
}

// show is called with 0 to 1. Lines are printed at the beginning and the end; the bar is drawn for
// every percent.
func (p *progress) show(done float32) {
	percent := int(done * 100)
	if percent <= p.last {
		return
	}
	first := p.last < 0
	p.last = percent
	switch {
	case p.bar && percent >= 100:
		fmt.Fprint(p.out, "\r\x1b[K")
	case p.bar:
		const width = 30
		filled := percent * width / 100
		fmt.Fprintf(p.out, "\r\x1b[Kloading %s [%s%s] %d%%", p.name, strings.Repeat("#", filled), strings.Repeat(" ", width-filled), percent)
	case first:
		fmt.Fprintf(p.out, "loading %s\n", p.name)
	}
}

// isTerminal reports whether a stream of a command is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
