// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
)

// turnsOf are pairs of turns that took so many seconds of processors, the sides taking turns to be
// first.
func turnsOf(contest, ours, theirs string, others float64, seconds ...[2]float64) []turn {
	var all []turn
	for i, s := range seconds {
		pair := []turn{
			{Contest: contest, Side: ours, Pair: i, Took: counted{CPU: s[0], Others: others}},
			{Contest: contest, Side: theirs, Pair: i, Took: counted{CPU: s[1]}},
		}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		all = append(all, pair...)
	}
	return all
}

var cpu = figure{"cpu", func(t turn) float64 { return t.Took.CPU }, true}

func TestLab_NotWorse_SaysWhatTheIntervalSays(t *testing.T) {
	var l lab
	eight := func(ours float64) [][2]float64 { return slices.Repeat([][2]float64{{ours, 2}}, 8) }
	l.report.Turns = slices.Concat(
		turnsOf("same", penstock, earlier, 0, eight(2)...),
		turnsOf("slower", penstock, earlier, 0, eight(2.5)...),
		turnsOf("few", penstock, earlier, 0, [2]float64{4, 2}, [2]float64{4, 2}),
		turnsOf("not measured", penstock, earlier, 0, eight(0)...),
	)
	for _, name := range []string{"same", "slower", "few", "not measured"} {
		l.notWorse(name, cpu)
	}
	want := []row{
		{"same: cpu", "2.000", "before: 2.000", "1.000 × better (1.000 to 1.000), 8 pairs", "not worse", "yes"},
		{"slower: cpu", "2.500", "before: 2.000", "0.800 × better (0.800 to 0.800), 8 pairs", "not worse", "no"},
		{"few: cpu", "4.000", "before: 2.000", "0.500 × better, 2 pairs", "not worse", "undecided"},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

func TestLab_Compared_LeavesDisturbedPairsOut(t *testing.T) {
	var l lab
	add := func(others float64, pairs ...[2]float64) {
		before := len(l.report.Turns)
		for _, t := range turnsOf("c", "a", "b", others, pairs...) {
			t.Pair += before
			l.report.Turns = append(l.report.Turns, t)
		}
	}
	add(0.5, slices.Repeat([][2]float64{{9, 1}}, 9)...)
	add(0.1, slices.Repeat([][2]float64{{1, 2}}, 7)...)
	if c := l.compared("c", "a", "b", cpu); c.n != 16 || c.all != 16 {
		t.Errorf("seven quiet pairs are too few to leave others out: %+v", c)
	}
	l.report.Turns = nil
	add(0.5, slices.Repeat([][2]float64{{9, 1}}, 9)...)
	add(0.1, slices.Repeat([][2]float64{{1, 2}}, 8)...)
	c := l.compared("c", "a", "b", cpu)
	if c.ratio != 2 || c.ours != 1 || c.theirs != 2 || c.n != 8 || c.all != 17 {
		t.Errorf("%+v", c)
	}
}

func TestLab_CostsAtMost_IsUndecidedWithinTheInterval(t *testing.T) {
	var l lab
	rate := figure{"rate", func(t turn) float64 { return t.Took.CPU }, false}
	add := func(plugin string, low, high float64) {
		l.report.Turns = append(l.report.Turns, turnsOf(plugin, "with", "without", 0, slices.Repeat([][2]float64{{low, 100}, {high, 100}}, 4)...)...)
		l.costsAtMost(plugin, rate, 1)
	}
	add("cheap", 99.5, 100)
	add("dear", 98, 98.5)
	add("who knows", 98, 100)
	want := []row{
		{"8 streams: cheap: rate", "99.8", "without: 100.0", "0.2% less (0.0 to 0.5), 8 pairs", "at most 1% less", "yes"},
		{"8 streams: dear: rate", "98.2", "without: 100.0", "1.8% less (1.5 to 2.0), 8 pairs", "at most 1% less", "no"},
		{"8 streams: who knows: rate", "99.0", "without: 100.0", "1.0% less (0.0 to 2.0), 8 pairs", "at most 1% less", "undecided"},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

func TestContests_EndByThemselves(t *testing.T) {
	for _, c := range contests(time.Second) {
		if err := c.load.Validate(); err != nil || c.load.Duration != 0 {
			t.Errorf("%s: %v, for %v", c.name, err, c.load.Duration)
		}
		r := turn{Result: bench.Result{Total: bench.Summary{TokensPerSecond: 5}}}
		for _, class := range c.load.Classes {
			latency := bench.Latency{Count: 1, P50: 5, P99: 5}
			r.Classes = append(r.Classes, bench.Summary{Class: class.Name, TTFT: latency, ITL: latency})
		}
		for _, f := range c.figures { // each finds the classes that it is of
			if got := f.of(r); got != 5 {
				t.Errorf("%s: %s is %v", c.name, f.what, got)
			}
		}
	}
}

func TestLateContest_SpreadsArrivalsOverThePrefill(t *testing.T) {
	var delays []time.Duration
	for _, class := range lateContest(16 * time.Second).Classes[1:] {
		delays = append(delays, class.Delay/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 3, 5, 7, 9, 11, 13, 15}, delays); diff != "" {
		t.Error(diff)
	}
}

func TestSignRank_IsThatOfTheTables(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 40: 14, 100: 40} {
		if got := signRank(n); got != want {
			t.Errorf("of %d: %d, not %d", n, got, want)
		}
	}
}

func TestPairedRatio_IsTheMedianWithAnInterval(t *testing.T) {
	// Ten pairs, two of which another program disturbed.
	e := pairedRatio([]float64{1.00, 0.99, 1.01, 1.02, 7.00, 1.00, 0.10, 0.98, 1.01, 1.03})
	if math.Abs(e.ratio-1.005) > 1e-9 || e.low != 0.98 || e.high != 1.03 || e.n != 10 {
		t.Errorf("%+v", e)
	}
	if e := pairedRatio([]float64{1, 2, 3, 4, 5}); e.ratio != 3 || e.low != 0 || !math.IsInf(e.high, 1) {
		t.Errorf("five pairs have no interval: %+v", e)
	}
	if e := pairedRatio(nil); e.ratio != 0 || e.n != 0 {
		t.Errorf("no pairs: %+v", e)
	}
}
