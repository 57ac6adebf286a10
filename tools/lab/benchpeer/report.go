// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/lab/svg"
	"github.com/penstock/penstock/tools/section"
)

// report is all that was measured.
type report struct {
	Time    time.Time        `json:"time"`
	Machine bench.Machine    `json:"machine"`
	Setting string           `json:"setting"` // of all servers and tools, in words
	Kernels string           `json:"kernels"` // of Penstock, as it says itself
	Rows    []row            `json:"rows"`
	Tools   []toolRun        `json:"tools"`
	Runs    []bench.Measured `json:"runs"`
	Turns   []turn           `json:"turns,omitempty"` // of comparisons with an earlier commit, and of plugins
	Ready   []readyCost      `json:"ready,omitempty"`
}

func (r *report) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *report) save(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// row is a line of the table.
type row struct {
	Work     string `json:"work"`
	Measured string `json:"measured"`
	Against  string `json:"against"`
	Ratio    string `json:"ratio"`
	Required string `json:"required"` // empty: nothing is asked
	Reached  string `json:"reached"`
}

func yesNo(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}

// ratio is 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// atLeast adds a row for a rate that must be at least least times the other.
func (l *lab) atLeast(work, against string, ours, theirs, least float64) {
	times := ratio(ours, theirs)
	l.report.Rows = append(l.report.Rows, row{work, fmt.Sprintf("%.1f", ours), fmt.Sprintf("%s: %.1f", against, theirs),
		fmt.Sprintf("%.2f ×", times), fmt.Sprintf("%.2f ×", least), yesNo(times >= least)})
}

// lower adds a row for a time in milliseconds. The other must be at least least times as long.
func (l *lab) lower(work, against string, ours, theirs, least float64) {
	l.inform(work, against, ours, theirs)
	r := &l.report.Rows[len(l.report.Rows)-1]
	r.Required, r.Reached = fmt.Sprintf("%.0f × lower", least), yesNo(ours > 0 && ratio(theirs, ours) >= least)
}

// inform adds a row without a requirement.
func (l *lab) inform(work, against string, ours, theirs float64) {
	l.report.Rows = append(l.report.Rows, row{Work: work, Measured: fmt.Sprintf("%.0f ms", ours),
		Against: fmt.Sprintf("%s: %.0f ms", against, theirs), Ratio: fmt.Sprintf("%.1f × lower", ratio(theirs, ours))})
}

// setting is a sentence that says what was compared.
func (l *lab) setting() string {
	kernels := ""
	if l.report.Kernels != "" {
		kernels = " Penstock's kernels: " + l.report.Kernels + "."
	}
	sizes := fmt.Sprintf("%d slots and %d tokens of context for short requests, %d and %d for the others.",
		l.many().Slots, l.many().Context, l.few().Slots, l.few().Context)
	if len(l.report.Turns) > 0 {
		sizes = fmt.Sprintf("%d slots and %d tokens of context.", l.one().Slots, l.one().Context)
	}
	return fmt.Sprintf("Model %s; %d threads each; %s", strings.TrimSuffix(filepath.Base(l.model), ".gguf"), l.threads, sizes) + kernels
}

// markdown writes the table with its date and machine. The single runs are in the file of -out.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %v. %s\n\n", r.Time.Format("2006-01-02 15:04 MST"), r.Machine, r.Setting)
	b.WriteString("| work | measured | against | ratio | target | met |\n|---|---|---|---|---|---|\n")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", x.Work, x.Measured, x.Against, x.Ratio, x.Required, x.Reached)
	}
	return b.String()
}

// output names the files that a run writes besides its figures; an empty name means none. All but
// ready are of a whole run.
type output struct{ document, readme, chart, ready string }

func (o output) write(r report) error {
	if len(r.Ready) > 0 {
		if err := section.Of("make bench-plugins", "").Replace(o.ready, "\n"+r.readyTable()+"\n"); err != nil {
			return err
		}
	}
	if err := ours.Replace(o.document, "\n"+r.markdown()+"\n"); err != nil {
		return err
	}
	if o.readme != "" { // without a whole run there is no sentence
		if err := ours.Replace(o.readme, "\n"+r.sentence()+"\n"+r.beside()+"\n"); err != nil {
			return err
		}
	}
	if o.chart != "" {
		return os.WriteFile(o.chart, []byte(r.chart()), 0o644)
	}
	return nil
}

// ours is what a run writes into a document.
var ours = section.Of("make bench-peer", "")

// pairs are the ratios of a figure on one server to that on another, round by round: the two were
// measured one after the other.
func (l *lab) pairs(scenario, of, to string, figure func(bench.Result) float64) []float64 {
	values := map[string]map[int]float64{of: {}, to: {}}
	for _, m := range l.report.Runs {
		if rounds := values[m.Target]; m.Scenario == scenario && rounds != nil {
			rounds[m.Round] = figure(m.Result)
		}
	}
	var ratios []float64
	for round, theirs := range values[to] {
		if ours := values[of][round]; ours > 0 && theirs > 0 {
			ratios = append(ratios, ours/theirs)
		}
	}
	return ratios
}

// student has the factors of Student's distribution for a two-sided interval of 95%, by degrees of
// freedom from 2 on.
var student = []float64{4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// interval is the 95% confidence interval of a ratio, of its logarithms' mean and spread. Fewer
// than three rounds have none.
func interval(ratios []float64) (low, high float64, ok bool) {
	n := len(ratios)
	if n < 3 {
		return 0, 0, false
	}
	mean, squares := 0.0, 0.0
	for _, r := range ratios {
		mean += math.Log(r) / float64(n)
	}
	for _, r := range ratios {
		squares += (math.Log(r) - mean) * (math.Log(r) - mean)
	}
	half := student[min(n-3, len(student)-1)] * math.Sqrt(squares/float64(n-1)/float64(n))
	return math.Exp(mean - half), math.Exp(mean + half), true
}

// between says a ratio and how sure it is.
func between(times float64, ratios []float64) string {
	low, high, ok := interval(ratios)
	if !ok {
		return fmt.Sprintf("%.2f ×", times)
	}
	return fmt.Sprintf("%.2f × (%.2f to %.2f)", times, low, high)
}

// faster adds a row for a rate of Penstock that must be at least least times that of llama-server.
func (l *lab) faster(work, scenario string, figure func(bench.Result) float64, least float64) {
	l.fasterThan(llama, work, scenario, figure, least)
}

// fasterThan is faster for another server in llama-server's place.
func (l *lab) fasterThan(other, work, scenario string, figure func(bench.Result) float64, least float64) {
	ours, theirs := l.median(scenario, penstock, figure), l.median(scenario, other, figure)
	l.atLeast(work, other, ours, theirs, least)
	l.report.Rows[len(l.report.Rows)-1].Ratio = between(ratio(ours, theirs), l.pairs(scenario, penstock, other, figure))
}

// notHigher adds a row for the longest gaps of Penstock's streams, which must not be longer than
// llama-server's.
func (l *lab) notHigher(scenario string, gaps func(bench.Result) bench.Latency) {
	p99 := func(r bench.Result) float64 { return gaps(r).P99 }
	ours, theirs := l.median(scenario, penstock, p99), l.median(scenario, llama, p99)
	count, streams := 0, 0
	for _, m := range l.report.Runs {
		if m.Scenario == scenario && m.Target == penstock {
			count += gaps(m.Result).Count
			streams = m.Total.Requests
		}
	}
	l.report.Rows = append(l.report.Rows, row{Work: scenario + ": p99 ITL",
		Measured: fmt.Sprintf("%.0f ms, of %d gaps in about %d ticks", ours, count, count/max(streams, 1)),
		Against:  fmt.Sprintf("%s: %.0f ms", llama, theirs),
		Ratio:    fmt.Sprintf("%.1f × lower", ratio(theirs, ours)), Required: "not higher", Reached: yesNo(ours > 0 && ours <= theirs)})
}

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
