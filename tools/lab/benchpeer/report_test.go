// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := report{Time: time.Unix(0, 0).UTC(), Setting: "Setting.", Machine: bench.Machine{CPU: "cpu", Cores: 2, OS: "linux"},
		Rows: []row{{"w", "m", "a", "r", "q", "yes"}}}
	write("# Title\n" + ours.Begin + "old\n" + ours.End + "the end\n")
	for range 2 { // a second run changes nothing
		if err := (output{document: path}).write(r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
