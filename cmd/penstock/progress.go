// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/penstock/penstock/host/hub"
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

// pullProgress shows how a pull goes on: on a terminal as a bar, elsewhere as a line for each
// tenth.
type pullProgress struct {
	out   io.Writer
	name  string
	bar   bool
	clock func() time.Time

	begin time.Time
	had   int64 // bytes from an earlier pull
	drawn time.Time
	tenth int64 // of the whole, shown as a line
}

func newPullProgress(out io.Writer, name string) *pullProgress {
	return &pullProgress{out: out, name: name, bar: isTerminal(out), clock: time.Now}
}

func (p *pullProgress) show(e hub.Event) {
	switch e := e.(type) {
	case hub.Planned:
		p.planned(e)
	case hub.Progress:
		p.progress(e)
	case hub.Retrying:
		p.line("%s: %v; trying again in %v", e.File, e.Err, e.Delay.Round(time.Millisecond))
	case hub.Verifying:
		p.line("verifying %s", e.File)
	}
}

func (p *pullProgress) planned(e hub.Planned) {
	p.begin, p.had = p.clock(), e.Have
	text := fmt.Sprintf("pulling %s: %s", p.name, e.Files[0].Name)
	if n := len(e.Files); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	if e.Total >= 0 {
		text += ", " + formatBytes(uint64(e.Total))
	}
	if e.Have > 0 {
		text += fmt.Sprintf(", of which %s are there", formatBytes(uint64(e.Have)))
		p.tenth = 10 * e.Have / max(e.Total, 1)
	}
	p.line("%s", text)
}

// line writes a line in place of the bar.
func (p *pullProgress) line(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end takes the bar away.
func (p *pullProgress) end() {
	if p.bar {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *pullProgress) progress(e hub.Progress) {
	const often = 100 * time.Millisecond
	now := p.clock()
	switch {
	case p.bar && now.Sub(p.drawn) >= often:
		p.drawn = now
		fmt.Fprint(p.out, "\r\x1b[K"+p.state(e, now))
	case !p.bar && e.Total > 0 && 10*e.Done/e.Total > p.tenth:
		p.tenth = 10 * e.Done / e.Total
		p.line("%s", p.state(e, now))
	}
}

// state is a line such as "[#### ] 50% 1.2 GiB of 2.4 GiB, 80.1 MiB/s, 15s left"; the bar only on
// a terminal.
func (p *pullProgress) state(e hub.Progress, now time.Time) string {
	text := formatBytes(uint64(e.Done))
	if e.Total > 0 {
		percent := 100 * e.Done / e.Total
		text = fmt.Sprintf("%d%% %s of %s", percent, text, formatBytes(uint64(e.Total)))
		if p.bar {
			const width = 30
			filled := int(width * e.Done / e.Total)
			text = fmt.Sprintf("[%s%s] %s", strings.Repeat("#", filled), strings.Repeat(" ", width-filled), text)
		}
	}
	seconds := now.Sub(p.begin).Seconds()
	if brought := e.Done - p.had; seconds >= 1 && brought > 0 {
		speed := float64(brought) / seconds
		text += fmt.Sprintf(", %s/s", formatBytes(uint64(speed)))
		if e.Total > 0 {
			text += fmt.Sprintf(", %v left", time.Duration(float64(e.Total-e.Done)/speed*float64(time.Second)).Round(time.Second))
		}
	}
	return text
}
