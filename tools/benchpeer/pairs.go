// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"

	"github.com/penstock/penstock/host/bench"
)

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

// faster adds a row for a rate of Penstock's that must be at least so many times llama-server's.
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
