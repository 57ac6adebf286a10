// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/bench"
)

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
