// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/svg"
)

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
