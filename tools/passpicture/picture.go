// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"html"
	"strings"
	"time"
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
	width      = 760
	left       = 70 // where lanes begin
	laneHeight = 22
	laneStep   = 28
	top        = 64
	panelGap   = 52
)

// style makes the picture readable on light and on dark pages.
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.quiet { fill: #59636e }
.computes { fill: #0f766e }
.spins { fill: #f59e0b }
.naps { fill: #cbd5e1 }
.displaced { fill: #b91c1c }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.quiet { fill: #9198a1 }
.computes { fill: #2dd4bf }
.naps { fill: #475569 }
.displaced { fill: #f87171 }
}
</style>`

// picture draws the panels one above the other, each as long.
func picture(title string, panels []panel, length time.Duration) string {
	var body strings.Builder
	text := func(x, y int, class, words string) {
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(words))
	}
	text(0, 20, "title", title)
	x := 0
	for s := computing; s < states; s++ {
		fmt.Fprintf(&body, "<rect x=\"%d\" y=\"33\" width=\"12\" height=\"12\" class=\"%s\"/>\n", x, classes[s])
		text(x+17, 44, "quiet", names[s])
		x += 40 + 7*len(names[s])
	}
	y := top
	var words []string
	for _, p := range panels {
		words = append(words, p.title+": "+inWords(p.lanes))
		text(0, y+14, "", p.title)
		y += 22
		for i, l := range p.lanes {
			text(0, y+15, "quiet", fmt.Sprintf("thread %d", i+1))
			l.draw(&body, y, length)
			y += laneStep
		}
		text(left, y+12, "quiet", "0")
		text(width-46, y+12, "quiet", fmt.Sprintf("%d ms", length.Milliseconds()))
		y += panelGap - 22
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" aria-labelledby=\"title words\">\n"+
		"<title id=\"title\">%s</title>\n<desc id=\"words\">%s.</desc>\n%s\n%s</svg>\n",
		width, y, html.EscapeString(title), html.EscapeString(strings.Join(words, ". ")), style, body.String())
}

// draw draws a thread's time: each pixel shows what it did for most of it.
func (l lane) draw(to *strings.Builder, y int, length time.Duration) {
	columns := l.columns(width-left, length)
	for x := 0; x < len(columns); {
		end := x + 1
		for end < len(columns) && columns[end] == columns[x] {
			end++
		}
		if s := columns[x]; s != unknown {
			fmt.Fprintf(to, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n", left+x, y, end-x, laneHeight, classes[s])
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
