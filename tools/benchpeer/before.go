// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
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
