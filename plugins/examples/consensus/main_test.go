// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math"
	"regexp"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// What the program does with a model, its cases have. That confidence is what the paper defines,
// host/plugin/examples finds out, on the module.

func TestConsensus_Extract_TheLastMatchCounts(t *testing.T) {
	for _, c := range []struct{ answer, text, want string }{
		{`([0-9])\s*$`, "it is 4\n", "4"}, {`[0-9]+`, "2 and 17", "17"}, {`is ([0-9])`, "is 1, is 2", "2"}, {`never`, "4", ""}, {`x(y)?`, "x", ""}, {`is:(.*)`, "is: a ", "a"},
	} {
		p := consensus{regexp.MustCompile(c.answer)}
		if got := p.extract(c.text); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.answer, c.text, got, c.want)
		}
	}
}

func TestConsensus_Open_RefusesABadExpression(t *testing.T) {
	if _, err := plugintest.TryOpen[consensus](t, plugintest.Request{Config: `{"answer":"("}`}); !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("it is opened: %v", err)
	}
}

// sure is a trace whose tokens had some confidence.
func sure(window int, confidence ...float64) trace {
	t := trace{window: make([]float64, window), lowest: math.Inf(1), state: running}
	for _, c := range confidence {
		t.add(0, 0, c)
	}
	return t
}

func TestTrace_Confidence_IsTheLowestWindows(t *testing.T) {
	for _, c := range []struct {
		window int
		tokens []float64
		want   float64
		stops  bool // below 2.5
	}{
		{2, []float64{4, 2, 3, 8}, 2.5, false},
		{2, []float64{4, 2, 2, 8}, 2, true},
		{3, []float64{4, 2, 2, 8}, 8.0 / 3, false},
		{5, []float64{1, 1, 2, 2}, 1.5, false}, // no window is full
		{5, nil, 0, false},
	} {
		got := sure(c.window, c.tokens...)
		if got.giveUp(2.5); math.Abs(got.confidence()-c.want) > 1e-12 || (got.state == stopped) != c.stops {
			t.Errorf("windows of %d of %v: %v, %s, want %v", c.window, c.tokens, got.confidence(), got.state, c.want)
		}
	}
}

func TestLowestOf_OfTheMostConfident(t *testing.T) {
	traces := []trace{sure(1, 5), sure(1, 2), sure(1, 9), sure(1, 7)}
	for percent, want := range map[int]float64{100: 2, 99: 5, 75: 5, 50: 7, 10: 9, 1: 9} {
		if got := lowestOf(traces, percent); got != want {
			t.Errorf("the lowest of %d %% is %v, want %v", percent, got, want)
		}
	}
}

func TestBallot_DecidedOnceNoneCanBeOvertaken(t *testing.T) {
	for _, c := range []struct {
		equal     bool
		threshold float64
		votes     string // answers by their first letter, of which each has the confidence of its place from 1
		want      int    // how many votes decide
		best      int    // the trace that is given
	}{
		{true, 0, "aabaa", 4, 4},
		{true, 0, "abab", -1, 3},  // a draw: the most confident
		{false, 0, "aaab", 3, 2},  // 1+2+3 against a last one of 3, the highest so far
		{false, 0, "aabbb", 5, 4}, // 3 against 3, 7, and then 12
		{true, 4, "aaabb", 5, 4},  // the first three are not confident enough
		{true, 0, "  ", -1, 1},
	} {
		var traces []trace
		v, decided := ballot{weights: map[string]float64{}, equal: c.equal, open: len(c.votes)}, -1
		for i := range c.votes {
			tr := sure(1, float64(i+1))
			if tr.state = ended; c.votes[i] != ' ' {
				tr.answer = c.votes[i : i+1]
			}
			traces = append(traces, tr)
			if v.cast(&traces[i], c.threshold); v.decided() && decided < 0 {
				decided = i + 1
			}
		}
		if got := v.best(traces); decided != c.want || got != c.best {
			t.Errorf("%q: decided by %d votes, want %d; trace %d is given, want %d", c.votes, decided, c.want, got, c.best)
		}
	}
}
