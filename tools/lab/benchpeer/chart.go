// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/lab/svg"
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
	chartLeft  = 130 // where bars begin; their names stand before it
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
			{"median", median(func(l bench.Latency) float64 { return l.P50 })},
			{"99th percentile", median(func(l bench.Latency) float64 { return l.P99 })},
			{"longest", longest},
		}})
	}
	return groups
}

var chartPalette = []svg.Colour{
	{Class: "ours", Light: "#0f766e", Dark: "#2dd4bf"},
	{Class: "theirs", Light: "#b45309", Dark: "#f59e0b"},
}

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
	to := &svg.Picture{Title: "Waiting for the next token while others send long prompts", Palette: chartPalette, Style: ".server { font-weight: 600 }\nrect { rx: 2px }\n"}
	to.Text(0, 42, "quiet", mixedWork+"; inter-token gaps of the streams")
	to.Text(0, 61, "quiet", fmt.Sprintf("%v, same model and llama.cpp, %s", r.Machine, r.Time.Format("2006-01-02")))
	for i, g := range groups {
		y := chartTop + i*groupStep + barHeight
		name, class := g.server, "theirs"
		if g.server == penstock {
			name, class = "Penstock", "ours"
		}
		to.Text(0, y, "server", name)
		for j, each := range g.bars {
			top := y + 7 + j*barStep
			length := max(2, int(each.value/longest*(svg.Width-chartLeft-chartRight)))
			to.Text(12, top+12, "quiet", each.name)
			to.Rectangle(chartLeft, top, length, barHeight, class)
			to.Text(chartLeft+length+7, top+12, "value", fmt.Sprintf("%.0f ms", each.value))
		}
	}
	return to.SVG(chartTop+len(groups)*groupStep, inWords(groups))
}

// sentence says for the README what the chart shows, with the prompts that were read meanwhile.
func (r report) sentence() string {
	p99 := func(server string) float64 { return bench.MedianOf(r.Runs, "mixed", server, streamITL) }
	prompts := func(server string) float64 { return bench.MedianOf(r.Runs, "mixed", server, promptTokensPerSecond) }
	return fmt.Sprintf("%d answers stream while %d clients send prompts of %d words, one after another. 99%% of the\n"+
		"inter-token gaps are below **%.0f ms** with Penstock, %.0f ms with llama-server, and %.0f ms with\n"+
		"llama-server's small batches (`-b 128 -ub 128`). Meanwhile Penstock reads %.0f prompt tokens a\n"+
		"second, and llama-server %.0f and %.0f. ([All figures](docs/performance.md), %s.)\n",
		streams, long, bench.LongWords, p99(penstock), p99(llama), p99(llama128), prompts(penstock), prompts(llama), prompts(llama128), r.Time.Format("2006-01-02"))
}

// beside says for the README what the streams get beside a busy program.
func (r report) beside() string {
	rate := func(streams int, server string) float64 {
		return bench.MedianOf(r.Runs, contentionName(1, streams), server, tokensPerSecond)
	}
	few, many := contended[0].streams, contended[1].streams
	return fmt.Sprintf("**It stays fast on a busy machine.** Beside another program that keeps one of %d processors busy,\n"+
		"a single answer gets %.0f tokens a second with Penstock and %.0f with llama-server; %d answers get\n"+
		"%.0f and %.0f together.\n",
		r.Machine.Cores, rate(few, penstock), rate(few, llama), many, rate(many, penstock), rate(many, llama))
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
	return "Inter-token gaps. " + strings.Join(servers, ". ") + "."
}
