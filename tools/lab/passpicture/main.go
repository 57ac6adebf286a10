// SPDX-License-Identifier: MIT

// Command passpicture draws which threads of a forward pass compute, wait for each other, or have
// no processor, from a trace of Linux's scheduler.
//
// A panel is a part of a trace: record.sh makes one. The threads drawn are those that met at ggml's
// barrier in that part. How much of the time each state takes in the whole trace is printed.
//
//	go run ./tools/lab/passpicture -o picture.svg "threads spin=before.trace@1200ms" "threads nap=after.trace@800ms"
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/svg"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "passpicture:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "file to write, as SVG")
	length := flag.Duration("length", 60*time.Millisecond, "time that a panel shows")
	title := flag.String("title", "Two threads of a forward pass beside a busy program", "title of the picture")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		return errors.New(`name the file with -o, and panels: "title=trace@begin"`)
	}
	var panels []panel
	for _, argument := range flag.Args() {
		p, err := readPanel(argument, *length)
		if err != nil {
			return fmt.Errorf("%q: %w", argument, err)
		}
		fmt.Printf("%s: %s\n", p.title, p.share)
		panels = append(panels, p)
	}
	return os.WriteFile(*out, []byte(picture(*title, panels, *length)), 0o644)
}

// readPanel reads what an argument names: "title=file@begin", the begin counted from the trace's
// first event.
func readPanel(argument string, length time.Duration) (panel, error) {
	title, rest, _ := strings.Cut(argument, "=")
	path, begin, found := strings.Cut(rest, "@")
	if !found {
		return panel{}, errors.New(`a panel is "title=trace@begin"`)
	}
	from, err := time.ParseDuration(begin)
	if err != nil {
		return panel{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return panel{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	events, err := parse(file)
	if err != nil {
		return panel{}, err
	}
	lanes := lanesOf(events, from, from+length)
	if len(lanes) == 0 {
		return panel{}, fmt.Errorf("no thread met another at the barrier from %v to %v", from, from+length)
	}
	end := events[len(events)-1].at
	return panel{title, lanes, inWords(lanesOf(events, 0, end))}, nil
}

// panel is a part of a trace with its title.
type panel struct {
	title string
	lanes []lane
	share string // of each state, in the whole trace
}

// names of the states, and their classes in the picture.
var (
	names   = [states]string{computing: "computes", spinning: "waits for the other on its processor", napping: "waits in naps", displaced: "has no processor"}
	classes = [states]string{computing: "computes", spinning: "spins", napping: "naps", displaced: "displaced"}
)

// inWords is how much of the time of all threads each state takes.
func inWords(lanes []lane) string {
	var took [states]time.Duration
	var all time.Duration
	for _, l := range lanes {
		for _, s := range l.spans {
			took[s.state] += s.end - s.begin
			all += s.end - s.begin
		}
	}
	var parts []string
	for s := computing; s < states; s++ {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", names[s], 100*float64(took[s])/float64(max(all, 1))))
	}
	return strings.Join(parts, ", ")
}

// The geometry, in pixels.
const (
	left       = 70 // where lanes begin
	laneHeight = 22
	laneStep   = 28
	top        = 64
	panelGap   = 52
)

var palette = []svg.Colour{
	{Class: "computes", Light: "#0f766e", Dark: "#2dd4bf"},
	{Class: "spins", Light: "#f59e0b", Dark: "#f59e0b"},
	{Class: "naps", Light: "#cbd5e1", Dark: "#475569"},
	{Class: "displaced", Light: "#b91c1c", Dark: "#f87171"},
}

// picture draws the panels one above the other, each as long.
func picture(title string, panels []panel, length time.Duration) string {
	to := &svg.Picture{Title: title, Palette: palette}
	x := 0
	for s := computing; s < states; s++ {
		to.Rectangle(x, 33, 12, 12, classes[s])
		to.Text(x+17, 44, "quiet", names[s])
		x += 40 + 7*len(names[s])
	}
	y := top
	var words []string
	for _, p := range panels {
		words = append(words, p.title+": "+inWords(p.lanes))
		to.Text(0, y+14, "", p.title)
		y += 22
		for i, l := range p.lanes {
			to.Text(0, y+15, "quiet", fmt.Sprintf("thread %d", i+1))
			l.draw(to, y, length)
			y += laneStep
		}
		to.Text(left, y+12, "quiet", "0")
		to.Text(svg.Width-46, y+12, "quiet", fmt.Sprintf("%d ms", length.Milliseconds()))
		y += panelGap - 22
	}
	return to.SVG(y, strings.Join(words, ". ")+".")
}

// draw draws a thread's time: each pixel shows what it did for most of it.
func (l lane) draw(to *svg.Picture, y int, length time.Duration) {
	columns := l.columns(svg.Width-left, length)
	for x := 0; x < len(columns); {
		end := x + 1
		for end < len(columns) && columns[end] == columns[x] {
			end++
		}
		if s := columns[x]; s != unknown {
			to.Rectangle(left+x, y, end-x, laneHeight, classes[s])
		}
		x = end
	}
}

// columns divides a time into n parts and says of each what the thread did longest; unknown: mostly
// nothing.
func (l lane) columns(n int, length time.Duration) []state {
	columns := make([]state, n)
	spans := l.spans
	for i := range columns {
		begin, end := l.begin+length*time.Duration(i)/time.Duration(n), l.begin+length*time.Duration(i+1)/time.Duration(n)
		for len(spans) > 0 && spans[0].end <= begin {
			spans = spans[1:]
		}
		var took [states]time.Duration
		took[unknown] = end - begin
		for _, s := range spans {
			if s.begin >= end {
				break
			}
			t := min(s.end, end) - max(s.begin, begin)
			took[s.state] += t
			took[unknown] -= t
		}
		for s := range states {
			if took[s] > took[columns[i]] {
				columns[i] = s
			}
		}
	}
	return columns
}
