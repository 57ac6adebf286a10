// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/bench"
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
		Rows:  []row{{"w", "m", "a", "r", "q", "yes"}},
		Tools: []toolRun{{"llama-bench", "tg128", 1, 3}},
		Runs:  []bench.Measured{{Scenario: "s", Target: "t", Round: 1, Result: bench.Result{Classes: []bench.Summary{{Class: "c", Requests: 2}}}}}}
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
		"| s | 1 | t | c | 2 | ", "| tg128 | 1 | llama-bench | | | 3.0 |", "\n" + ours.End + "the end\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("the old section is still there")
	}
}
