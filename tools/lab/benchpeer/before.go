// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
)

// one is the size of servers that Penstock is compared with itself on: 2,048 tokens for each of 16
// slots.
func (l *lab) one() bench.Size { return bench.Size{Slots: 16, Context: 32 << 10, Threads: l.threads} }

// Words of the long prompts of a comparison: fewer than in a whole run, so that turns are short.
const (
	lateWords   = 1000
	prefixWords = 1000
	mixedWords  = 600
)

// arrivals is how many short prompts arrive during a long one.
const arrivals = 8

// contests is what a comparison with an earlier commit does in turn. prefill is how long a prompt
// of lateWords takes alone.
func contests(prefill time.Duration) []contest {
	rate := figure{"tokens/s", func(t turn) float64 { return t.Total.TokensPerSecond }, false}
	gap := figure{"median ITL, ms", func(t turn) float64 { return t.Class("stream").ITL.P50 }, true}
	ttft := func(what, class string) figure {
		return figure{what, func(t turn) float64 { return t.Class(class).TTFT.P50 }, true}
	}
	bursts := func(streams, tokens int) bench.Load {
		load := bench.Batch(seedBefore+uint64(100*streams), "", streams).Load
		load.Classes[0].MaxTokens = tokens
		return load
	}
	return []contest{
		{"1 stream", bench.Single(seedBefore, 1).Load, 6, []figure{rate, gap}},
		{"8 streams", bursts(8, 48), 6, []figure{rate, gap}},
		{"16 streams", bursts(16, 32), 4, []figure{rate, gap}},
		{fmt.Sprintf("%d short prompts during a long prefill", arrivals), lateContest(prefill), 4,
			[]figure{{"mean TTFT, ms", shortTTFTs, true}}},
		{"requests with the same prefix", prefixContest(), 4, []figure{ttft("median TTFT, ms", "second")}},
		{fmt.Sprintf("%d streams + %d clients with %d-word prompts", streams, long, mixedWords), mixedContest(), 4, []figure{
			{"p99 ITL, ms", func(t turn) float64 { return t.Class("stream").ITL.P99 }, true}, gap, ttft("TTFT of the long prompts, ms", "long")}},
	}
}

// lateContest has short prompts arrive at even distances while a long one is computed. How long one
// waits depends on the moment in a tick at which it arrives, and a single one meets only one such
// moment.
func lateContest(prefill time.Duration) bench.Load {
	load := bench.Load{Seed: seedBefore + 1, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "long", Clients: 1, Requests: 1, PromptWords: lateWords, MaxTokens: 1}}}
	for i := range arrivals {
		load.Classes = append(load.Classes, bench.Class{Name: fmt.Sprint("short ", i), Clients: 1, Requests: 1, PromptWords: 20, MaxTokens: 1,
			Delay: prefill * time.Duration(2*i+1) / (2 * arrivals)})
	}
	return load
}

// shortTTFTs is the mean over the short prompts.
func shortTTFTs(t turn) float64 {
	sum := 0.0
	for _, class := range t.Classes {
		if strings.HasPrefix(class.Class, "short") {
			sum += class.TTFT.P50 / arrivals
		}
	}
	return sum
}

func prefixContest() bench.Load {
	return bench.Load{Seed: seedBefore + 2, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "first", Clients: 1, Requests: 1, PromptWords: prefixWords + 8, SharedWords: prefixWords, MaxTokens: 64},
		{Name: "second", Clients: 1, Requests: 5, PromptWords: prefixWords + 8, SharedWords: prefixWords, MaxTokens: 1, After: "first"}}}
}

func mixedContest() bench.Load {
	return bench.Load{Seed: seedBefore + 3, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: streams, Requests: streams, PromptWords: bench.ShortWords, MaxTokens: 48},
		{Name: "long", Clients: long, Requests: long, PromptWords: mixedWords, MaxTokens: 1, After: "stream"}}}
}

// compareBefore runs the same work on this binary and on that of an earlier commit, in short turns.
// What was measured before an error has its rows, too: who breaks it off has waited for them.
func (l *lab) compareBefore() error {
	if l.before == "" {
		return errors.New("-before is not given: the penstock binary of an earlier commit")
	}
	fmt.Fprintln(l.log, countersSay())
	all, err := l.duels()
	for _, c := range all {
		for _, f := range append(c.figures, took...) {
			l.notWorse(c.name, f)
		}
	}
	return err
}

// duels runs all rounds. Each has new servers: two processes of one binary differ by the memory
// that they were given, as long as they run.
func (l *lab) duels() ([]contest, error) {
	var all []contest
	for round := range l.rounds {
		now, then, err := l.sides(round)
		if err != nil {
			return all, err
		}
		if round == 0 {
			prefill, err := l.prefill(now)
			if err != nil {
				return nil, err
			}
			all = contests(prefill)
		}
		for _, c := range all {
			if err := l.duel(now, then, c, round); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// took is compared for all work.
var took = []figure{
	{"processor time, s", func(t turn) float64 { return t.Took.CPU }, true},
	{"instructions, millions", func(t turn) float64 { return t.Took.Instructions / 1e6 }, true},
}

// sides starts both servers anew, in each second round the earlier one first.
func (l *lab) sides(round int) (now, then side, err error) {
	l.stopServers()
	names := []string{penstock, earlier}
	if round%2 == 1 {
		names = []string{earlier, penstock}
	}
	targets, err := l.targets(l.one(), names...)
	if err != nil {
		return side{}, side{}, err
	}
	of := func(name string) side {
		for i, s := range l.servers {
			if s.name == name {
				return side{Target: targets[i], pid: s.process.PID()}
			}
		}
		return side{}
	}
	return of(penstock), of(earlier), nil
}

// prefill is how long a long prompt takes on a server that does nothing else: the median of three.
func (l *lab) prefill(s side) (time.Duration, error) {
	load := bench.Load{Seed: seedBefore + 4, Classes: []bench.Class{{Name: "long", Clients: 1, Requests: 3, PromptWords: lateWords, MaxTokens: 1}}}
	result, err := bench.Run(l.ctx, s, load)
	if err != nil {
		return 0, err
	}
	return time.Duration(result.Class("long").TTFT.P50 * float64(time.Millisecond)), nil
}

// notWorse adds a row for a figure that must not have become worse: it has if the whole interval
// says so.
func (l *lab) notWorse(contest string, f figure) {
	c := l.compared(contest, penstock, earlier, f)
	if c.n == 0 {
		return // it is not measured here
	}
	r := row{Work: contest + ": " + f.what, Measured: digits(c.ours), Against: "before: " + digits(c.theirs), Required: "not worse",
		Ratio: fmt.Sprintf("%.3f × better, %s", c.ratio, c.pairs()), Reached: "undecided"}
	if c.known() {
		r.Ratio = fmt.Sprintf("%.3f × better (%.3f to %.3f), %s", c.ratio, c.low, c.high, c.pairs())
		r.Reached = yesNo(c.high >= 1)
	}
	l.report.Rows = append(l.report.Rows, r)
}

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

// sure is how often an interval has to contain the true ratio.
const sure = 0.95

// estimate is a ratio and the interval that contains it so surely; without an interval low and high
// are 0 and infinite.
type estimate struct {
	ratio, low, high float64
	n                int // pairs
}

// known reports whether there is an interval.
func (e estimate) known() bool { return e.low > 0 }

// pairedRatio is the median of the pairs' ratios. Its interval is that of the sign test, which
// assumes nothing but that a pair's ratio is as often above the true one as below it: how far off a
// disturbed pair is does not matter. It needs six pairs.
func pairedRatio(ratios []float64) estimate {
	sorted := slices.Clone(ratios)
	n := len(sorted)
	e := estimate{ratio: bench.Median(sorted), high: math.Inf(1), n: n}
	if k := signRank(n); k > 0 {
		e.low, e.high = sorted[k-1], sorted[n-k]
	}
	return e
}

// signRank is the rank, from 1 on, of the interval's ends among n sorted values, counted from
// below and from above: the greatest at which the median is outside no more often than it may be.
// 0: n are too few.
func signRank(n int) int {
	term := math.Pow(0.5, float64(n)) // how probable k heads of n fair coins are
	below := term                     // and no more than k
	k := 0
	for ; k < n && 2*below <= 1-sure; k++ {
		term *= float64(n-k) / float64(k+1)
		below += term
	}
	return k
}
