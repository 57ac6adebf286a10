// SPDX-License-Identifier: MIT

package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/must"
)

func TestLab_Rows_SayWhetherTheyAreReached(t *testing.T) {
	var l lab
	l.atLeast("rate", "them", 110, 100, 1.10)
	l.atLeast("rate", "them", 109, 100, 1.10)
	l.lower("time", "them", 10, 400, 40)
	l.lower("time", "them", 11, 400, 40)
	l.lower("time", "them", 0, 400, 40) // nothing was measured
	l.inform("time", "them", 20, 10)
	want := []row{
		{"rate", "110.0", "them: 100.0", "1.10 ×", "1.10 ×", "yes"},
		{"rate", "109.0", "them: 100.0", "1.09 ×", "1.10 ×", "no"},
		{"time", "10 ms", "them: 400 ms", "40.0 × lower", "40 × lower", "yes"},
		{"time", "11 ms", "them: 400 ms", "36.4 × lower", "40 × lower", "no"},
		{"time", "0 ms", "them: 400 ms", "0.0 × lower", "40 × lower", "no"},
		{"time", "20 ms", "them: 10 ms", "0.5 × lower", "", ""},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

func TestLab_Utilisation_AddsSharesOfTheBestRates(t *testing.T) {
	var l lab
	add := func(scenario, target string, prompt, generated float64) {
		l.report.Runs = append(l.report.Runs, bench.Measured{Scenario: scenario, Target: target,
			Result: bench.Result{Total: bench.Summary{PromptTokensPerSecond: prompt, TokensPerSecond: generated}}})
	}
	add("prefill only", penstock, 450, 1)
	add("prefill only", llama, 500, 1)
	add("generation only", penstock, 5, 200)
	add("generation only", llama, 5, 160)
	add("mixed", penstock, 250, 84)
	add("mixed", llama, 400, 2)
	add("mixed", llama128, 300, 10)
	l.utilisation()
	want := []row{
		{"the same: utilisation", "0.92 (250 prompt and 84 generated tokens/s)", "best rates: 500 prompt and 200 generated tokens/s", "", "0.90", "yes"},
		{"the same: utilisation, llama-server", "0.81 (400 prompt and 2 generated tokens/s)", "best rates: 500 prompt and 200 generated tokens/s", "", "", ""},
		{"the same: utilisation, llama-server -b 128 -ub 128", "0.65 (300 prompt and 10 generated tokens/s)", "best rates: 500 prompt and 200 generated tokens/s", "", "", ""},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

func TestOutput_Write_KeepsTheRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	r := report{Time: time.Unix(0, 0).UTC(), Setting: "Setting.", Machine: bench.Machine{CPU: "cpu", Cores: 2, OS: "linux"},
		Rows: []row{{"w", "m", "a", "r", "q", "yes"}}}
	write("# Title\n" + ours.Begin + "old\n" + ours.End + "the end\n")
	for range 2 { // a second run changes nothing
		must.Do(t, (output{document: path}).write(r))
	}
	got := must.Get(os.ReadFile(path))(t)
	for _, want := range []string{"# Title\n" + ours.Begin + "\nMeasured on 1970-01-01 00:00 UTC, cpu, 2 cores, linux. Setting.\n", "| w | m | a | r | q | yes |\n",
		"\n" + ours.End + "the end\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("the old section is still there")
	}
}

func TestInterval_ContainsTheRatio(t *testing.T) {
	low, high, ok := interval([]float64{1.2, 1.3, 1.4})
	mean := math.Cbrt(1.2 * 1.3 * 1.4)
	if !ok || math.Abs(low*high-mean*mean) > 1e-9 || low > 1.15 || low < 1.0 {
		t.Errorf("from %.3f to %.3f, %v", low, high, ok)
	}
	if low, high, ok := interval([]float64{2, 2, 2}); !ok || math.Abs(low-2) > 1e-9 || math.Abs(high-2) > 1e-9 {
		t.Errorf("three rounds of 2: from %.3f to %.3f, %v", low, high, ok)
	}
	if _, _, ok := interval([]float64{1, 2}); ok {
		t.Error("two rounds have an interval")
	}
	many := make([]float64, 40)
	for i := range many {
		many[i] = 1 + float64(i%2)
	}
	if _, high, ok := interval(many); !ok || high > 1.7 {
		t.Errorf("forty rounds: up to %.2f, %v", high, ok)
	}
}

func TestLab_Pairs_AreOfOneRound(t *testing.T) {
	var l lab
	add := func(target string, round int, tokens float64, gaps bench.Latency) {
		l.report.Runs = append(l.report.Runs, bench.Measured{Scenario: "s", Target: target, Round: round, Result: bench.Result{
			Total: bench.Summary{TokensPerSecond: tokens, Requests: 8}, Classes: []bench.Summary{{Class: "stream", ITL: gaps}}}})
	}
	for round, tokens := range []float64{100, 110, 120} {
		add(penstock, round+1, 2*tokens, bench.Latency{Count: 80, P99: 10})
		add(llama, round+1, tokens, bench.Latency{Count: 80, P99: 9})
	}
	add(penstock, 4, 500, bench.Latency{}) // its neighbour is missing
	l.faster("rate", "s", tokensPerSecond, 1.3)
	l.report.Runs = l.report.Runs[:6]
	l.notHigher("s", streamGaps)
	want := []row{
		{"rate", "230.0", "llama-server: 110.0", "2.09 × (2.00 to 2.00)", "1.30 ×", "yes"},
		{"s: p99 ITL", "10 ms, of 240 gaps in about 30 ticks", "llama-server: 9 ms", "0.9 × lower", "not higher", "no"},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// measuredGaps is a report with two rounds of mixed work; the figures of each server are multiples
// of its scale.
func measuredGaps() report {
	r := report{Time: time.Unix(0, 0).UTC(), Machine: bench.Machine{CPU: "A & B", Cores: 2, OS: "linux"}}
	for target, scale := range map[string]float64{penstock: 1, llama128: 4, llama: 25} {
		for round := range 2 {
			longest := scale * float64(100+60*round)
			itl := bench.Latency{Count: 100, P50: scale * 10, P95: scale * 50, P99: scale * 90, Max: longest}
			r.Runs = append(r.Runs, bench.Measured{Scenario: "mixed", Target: target, Round: round + 1, Result: bench.Result{
				Classes: []bench.Summary{{Class: "stream", ITL: itl}, {Class: "long"}}, Total: bench.Summary{PromptTokensPerSecond: 1000 / scale}}})
		}
	}
	return r
}

func TestReport_Chart(t *testing.T) {
	got := measuredGaps().chart()
	golden := filepath.Join("testdata", "gaps.svg")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the chart has changed; look at it, and keep it with -update (-want +got):\n%s", diff)
	}
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if empty := (report{}).chart(); empty != "" {
		t.Errorf("nothing was measured, but drawn: %s", empty)
	}
}

// A report that is read again is written with the setting in which it was measured, whatever the
// flags are now.
func TestOutput_Write_OfAFileThatWasKept(t *testing.T) {
	folder := t.TempDir()
	kept, document := filepath.Join(folder, "kept.json"), filepath.Join(folder, "document.md")
	r := measuredGaps()
	r.Setting = "7 threads each."
	must.Do(t, r.save(kept))
	must.Do(t, os.WriteFile(document, []byte(ours.Begin+ours.End), 0o600))
	var again report
	must.Do(t, again.read(kept))
	must.Do(t, (output{document: document}).write(again))
	if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "Measured on 1970-01-01 00:00 UTC, ") || !strings.Contains(string(text), r.Setting) {
		t.Errorf("%s %v", text, err)
	}
}

// What the README and the chart say was measured in the run whose table is in docs/performance.md.
func TestDocuments_SayTheSame(t *testing.T) {
	read := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "..", name)))(t)
		return string(text)
	}
	_, section, ok := strings.Cut(read("README.md"), ours.Begin)
	section, _, closed := strings.Cut(section, ours.End)
	if !ok || !closed {
		t.Fatal("the README has no section of bench-peer")
	}
	table, chart := read("docs/performance.md"), read("docs/images/gaps.svg")
	find := func(pattern string) []string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(table)
		if found == nil {
			t.Fatalf("docs/performance.md has no %s", pattern)
		}
		return found[1:]
	}
	work := regexp.QuoteMeta("| " + mixedWork + fmt.Sprintf(": p99 ITL of the %d | ", streams))
	fast := find(work + `(\d+ ms) \| llama-server: (\d+ ms)`)
	small := find(work + `\d+ ms \| llama-server -b 128 -ub 128: (\d+ ms)`)
	for _, gap := range append(fast, small...) {
		if !strings.Contains(section, gap) || !strings.Contains(chart, ">"+gap+"<") {
			t.Errorf("docs/performance.md has a p99 of %s; the README or the chart has another", gap)
		}
	}
	for _, server := range []string{"", ", llama-server", ", llama-server -b 128 -ub 128"} {
		rate := find(`\| the same: utilisation` + server + ` \| [\d.]+ \((\d+) prompt`)[0]
		if !strings.Contains(section, " "+rate) {
			t.Errorf("docs/performance.md has %s prompt tokens/s%s; the README has not", rate, server)
		}
	}
	for _, c := range contended {
		name := contentionName(1, c.streams)
		for _, rate := range find(`\| ` + name + `, tokens/s \| ([\d.]+) \| llama-server: ([\d.]+) `) {
			tokens, err := strconv.ParseFloat(rate, 64)
			if err != nil || !slices.Contains(strings.Fields(section), fmt.Sprintf("%.0f", tokens)) {
				t.Errorf("docs/performance.md has %s tokens/s of %s; the README has not (%v)", rate, name, err)
			}
		}
	}
	date := find(`(?m)^Measured on (\d{4}-\d\d-\d\d)`)[0]
	if !strings.Contains(section, date) || !strings.Contains(chart, date) {
		t.Errorf("the README or the chart is not of %s", date)
	}
}
