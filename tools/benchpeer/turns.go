// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// contest is short work that two sides do in turn. It is the same for both, so what it takes can be
// compared.
type contest struct {
	name    string
	load    bench.Load // without a duration: all of it is done
	pairs   int        // of turns in a round that others do not disturb
	figures []figure
}

// figure is one measured number by which sides are compared.
type figure struct {
	what  string
	of    func(turn) float64
	lower bool // less is better
}

// side is one of two servers, or a way to ask the same one.
type side struct {
	bench.Target
	pid  int
	seed uint64 // added to the load's
}

// turn is what a contest took one side.
type turn struct {
	Contest string  `json:"contest"`
	Side    string  `json:"side"`
	Pair    int     `json:"pair"` // the turns of a pair followed one another and had the same load
	Took    counted `json:"took"`
	bench.Result
}

// take has a side do the contest once.
func (l *lab) take(s side, c contest, pair int) error {
	load := c.load
	load.Seed += uint64(pair)<<32 + s.seed
	counters := countersOf(s.pid)
	result, err := bench.Run(l.ctx, s, load)
	took := counters.stop()
	if err != nil {
		return fmt.Errorf("%s on %s: %w", c.name, s.Name, err)
	}
	if result.Total.Failed > 0 {
		return fmt.Errorf("%s on %s: %d of %d requests failed: %s", c.name, s.Name, result.Total.Failed, result.Total.Requests, result.Total.Error)
	}
	l.report.Turns = append(l.report.Turns, turn{c.name, s.Name, pair, took, result})
	return nil
}

const (
	// disturbing is the share of the processors that other programs may take in a turn. A pair in
	// which they take more is done again.
	disturbing = 0.10
	// attempts is how many pairs there are at most for each that is wanted.
	attempts = 2
	// patience is how long a run waits for other programs to be quiet, all pairs together.
	patience = time.Minute
	// lookFor is how long it looks at what they do.
	lookFor = 200 * time.Millisecond
)

// duel has two sides do the contest in turn, A B B A, so that what drifts meets both alike.
func (l *lab) duel(a, b side, c contest, round int) error {
	quiet, first, second := 0, a, b
	for i := 0; i < attempts*c.pairs && quiet < c.pairs; i++ {
		l.awaitQuiet()
		pair := round*attempts*c.pairs + i
		if err := l.take(first, c, pair); err != nil {
			return err
		}
		if err := l.take(second, c, pair); err != nil {
			return err
		}
		n := len(l.report.Turns)
		x, y := l.report.Turns[n-2], l.report.Turns[n-1]
		if x.quiet() && y.quiet() {
			quiet++
		}
		fmt.Fprintf(l.log, "%s, round %d, pair %d: %s %.2f s, %.2f s of processors; %s %.2f s, %.2f s; others took %.0f%% and %.0f%%\n", c.name, round+1,
			i+1, x.Side, x.Took.Seconds, x.Took.CPU, y.Side, y.Took.Seconds, y.Took.CPU, 100*x.Took.Others, 100*y.Took.Others)
		first, second = second, first
	}
	return nil
}

// quiet reports whether other programs left the machine to this turn.
func (t turn) quiet() bool { return t.Took.Others <= disturbing }

// awaitQuiet waits until other programs leave the machine alone, as long as there is patience left.
func (l *lab) awaitQuiet() {
	for l.waited < patience && l.ctx.Err() == nil {
		before, from := machineTime()
		time.Sleep(lookFor)
		after, to := machineTime()
		if to <= from || (after-before)/(to-from) <= disturbing {
			return
		}
		l.waited += lookFor
	}
}

// comparison is a figure of two sides. The ratio says how many times better ours is.
type comparison struct {
	ours, theirs float64 // medians
	estimate
	all int // pairs, those that others disturbed included
}

// enough quiet pairs let the disturbed ones be left out.
const enough = 8

// compared compares a figure of two sides, pair by pair. Pairs without it do not count; those that
// others disturbed count only where there are too few quiet ones.
func (l *lab) compared(contest, of, to string, f figure) comparison {
	all := l.measured(contest, of, to, f)
	used := slices.DeleteFunc(slices.Clone(all), func(p measuredPair) bool { return !p.quiet })
	if len(used) < enough {
		used = all
	}
	var ours, theirs, ratios []float64
	for _, p := range used {
		ours, theirs = append(ours, p.ours), append(theirs, p.theirs)
		if f.lower {
			p.ours, p.theirs = p.theirs, p.ours
		}
		ratios = append(ratios, p.ours/p.theirs)
	}
	return comparison{bench.Median(ours), bench.Median(theirs), pairedRatio(ratios), len(all)}
}

// measuredPair is a figure of a pair of turns.
type measuredPair struct {
	ours, theirs float64
	quiet        bool
}

// measured are the pairs that have a figure, in order.
func (l *lab) measured(contest, of, to string, f figure) []measuredPair {
	var pairs []measuredPair
	turns := map[int]turn{} // of ours or theirs, whichever came first
	for _, t := range l.report.Turns {
		if t.Contest != contest || t.Side != of && t.Side != to {
			continue
		}
		other, ok := turns[t.Pair]
		if !ok {
			turns[t.Pair] = t
			continue
		}
		p := measuredPair{f.of(t), f.of(other), t.quiet() && other.quiet()}
		if t.Side == to {
			p.ours, p.theirs = p.theirs, p.ours
		}
		if p.ours > 0 && p.theirs > 0 {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// pairs says how many there were.
func (c comparison) pairs() string {
	if c.n == c.all {
		return fmt.Sprintf("%d pairs", c.all)
	}
	return fmt.Sprintf("%d of %d pairs", c.n, c.all)
}

// digits writes a figure with about four of them.
func digits(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3f", x)
}
