// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/bench"
)

// bar is one bar of the chart, in milliseconds.
type bar struct {
	name  string
	value float64
}

// group is what the chart shows of one server.
type group struct {
	server string
	bars   []bar
}

// The geometry of the chart, in pixels.
const (
	chartWidth = 760
	chartLeft  = 190 // where bars begin; their names stand before it
	chartRight = 80  // room behind the longest bar for its value
	chartTop   = 84
	barHeight  = 15
	barStep    = 21
	groupStep  = 3*barStep + 22
)

// gaps is how long the streams of mixed work waited for their next token: medians over the rounds,
// and the longest gap of all.
func gaps(runs []bench.Measured) []group {
	var groups []group
	for _, server := range []string{penstock, llama128, llama} {
		median := func(figure func(bench.Latency) float64) float64 {
			return bench.MedianOf(runs, "mixed", server, func(r bench.Result) float64 { return figure(r.Class("stream").ITL) })
		}
		longest := 0.0
		for _, m := range runs {
			if m.Scenario == "mixed" && m.Target == server {
				longest = max(longest, m.Class("stream").ITL.Max)
			}
		}
		groups = append(groups, group{server, []bar{
			{"half are shorter than", median(func(l bench.Latency) float64 { return l.P50 })},
			{"99 of 100 are shorter than", median(func(l bench.Latency) float64 { return l.P99 })},
			{"the longest", longest},
		}})
	}
	return groups
}

// chartStyle makes the chart readable on light and on dark pages.
const chartStyle = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.server { font-weight: 600 }
.quiet { fill: #59636e }
.ours { fill: #0f766e }
.theirs { fill: #b45309 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.quiet { fill: #9198a1 }
.ours { fill: #2dd4bf }
.theirs { fill: #f59e0b }
}
</style>`

// chart draws the gaps of the report's mixed work as an SVG image. It is empty if there was no
// such work.
func (r report) chart() string {
	groups := gaps(r.Runs)
	longest := 0.0
	for _, g := range groups {
		longest = max(longest, slices.MaxFunc(g.bars, func(a, b bar) int { return cmp.Compare(a.value, b.value) }).value)
	}
	if longest == 0 {
		return ""
	}
	height := chartTop + len(groups)*groupStep
	title := "Waiting for the next token while others send long prompts"
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" aria-labelledby=\"title words\">\n", chartWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"words\">%s</desc>\n%s\n", title, html.EscapeString(inWords(groups)), chartStyle)
	text := func(x, y int, class, words string) {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(words))
	}
	text(0, 20, "title", title)
	text(0, 42, "quiet", mixedWork+"; time between two tokens of a stream")
	text(0, 61, "quiet", fmt.Sprintf("%v, same model and llama.cpp, %s", r.Machine, r.Time.Format("2006-01-02")))
	for i, g := range groups {
		y := chartTop + i*groupStep + barHeight
		name, class := g.server, "theirs"
		if g.server == penstock {
			name, class = "Penstock", "ours"
		}
		text(0, y, "server", name)
		for j, each := range g.bars {
			top := y + 7 + j*barStep
			length := max(2, int(each.value/longest*(chartWidth-chartLeft-chartRight)))
			text(12, top+12, "quiet", each.name)
			fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\" class=\"%s\"/>\n", chartLeft, top, length, barHeight, class)
			text(chartLeft+length+7, top+12, "value", fmt.Sprintf("%.0f ms", each.value))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// sentence says for the README what the chart shows, with the prompts that were read meanwhile.
func (r report) sentence() string {
	p99 := func(server string) float64 { return bench.MedianOf(r.Runs, "mixed", server, streamITL) }
	prompts := func(server string) float64 { return bench.MedianOf(r.Runs, "mixed", server, promptTokensPerSecond) }
	return fmt.Sprintf("%d answers stream while %d clients send prompts of %d words, one after another. 99%% of inter-token gaps\n"+
		"are below **%.0f ms** with Penstock, %.0f ms with llama-server, and %.0f ms with llama-server's small batches (`-b 128 -ub 128`).\n"+
		"Meanwhile Penstock reads %.0f prompt tokens a second, and llama-server %.0f and %.0f. ([All figures](docs/performance.md), %s.)\n",
		streams, long, bench.LongWords, p99(penstock), p99(llama), p99(llama128), prompts(penstock), prompts(llama), prompts(llama128), r.Time.Format("2006-01-02"))
}

// inWords says what the chart shows to those who cannot see it.
func inWords(groups []group) string {
	var servers []string
	for _, g := range groups {
		var parts []string
		for _, each := range g.bars {
			parts = append(parts, fmt.Sprintf("%s %.0f ms", each.name, each.value))
		}
		servers = append(servers, g.server+": "+strings.Join(parts, ", "))
	}
	return "Gaps between two tokens. " + strings.Join(servers, ". ") + "."
}
