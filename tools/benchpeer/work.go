// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// Seeds differ between parts, so that no prompt occurs twice.
const (
	seedSingle = iota + 1
	seedBurst
	seedMixed
	seedTarget
	seedLate
	seedPrefix
	seedPlugins
	seedSchemas
	seedQuants
	seedDeep
	seedGuesses
	seedBefore
	seedContention
	seedMemory
	seedQuota
	seedReady
)

// single measures one stream alone.
func (l *lab) single() error {
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(40*time.Second, func(round int) error {
		if err := l.round(targets, bench.Single(seedSingle, 3), round); err != nil {
			return err
		}
		speed, err := l.generation(128)
		if err != nil {
			return err
		}
		l.note("llama-bench", "tg128", round, speed)
		return nil
	})
	if err != nil {
		return err
	}
	l.faster("1 stream, tokens/s", "single", tokensPerSecond, 1.05)
	l.atLeast("1 stream, tokens/s", "llama-bench tg128", l.median("single", penstock, tokensPerSecond), l.toolMedian("llama-bench", "tg128"), 0.97)
	return nil
}

// burst measures 8 and 16 streams that begin at once.
func (l *lab) burst() error {
	sequences := []int{8, 16}
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	name := func(n int) string { return fmt.Sprintf("%d streams", n) }
	prompt := 0
	err = l.repeat(60*time.Second, func(round int) error {
		for _, n := range sequences {
			if err := l.round(targets, bench.Batch(uint64(seedBurst+100*n), name(n), n), round); err != nil {
				return err
			}
			last := l.report.Runs[len(l.report.Runs)-1].Total
			prompt = int(math.Round((last.PromptTokens + float64(last.CachedTokens)) / float64(n)))
		}
		speeds, err := l.batches(prompt, 64, sequences)
		if err != nil {
			return err
		}
		for _, n := range sequences {
			l.note("llama-batched-bench", name(n), round, speeds[n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range sequences {
		work := fmt.Sprintf("%d streams of %d prompt words and 64 tokens, tokens/s overall", n, bench.ShortWords)
		l.faster(work, name(n), tokensPerSecond, 1.3)
		l.atLeast(work, fmt.Sprintf("llama-batched-bench -npp %d -ntg 64", prompt), l.median(name(n), penstock, tokensPerSecond),
			l.toolMedian("llama-batched-bench", name(n)), 0.95)
		l.notHigher(name(n), streamGaps)
	}
	return nil
}

// late measures a short prompt that arrives while a long one is computed.
func (l *lab) late() error {
	targets, err := l.targets(l.few(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(30*time.Second, func(round int) error {
		return l.round(targets, lateLoad(round), round)
	})
	if err != nil {
		return err
	}
	l.lower("TTFT p50 of a 20-word prompt arriving during a long prefill", llama, l.median("late", penstock, shortTTFT), l.median("late", llama, shortTTFT), 10)
	return nil
}

func lateLoad(round int) bench.Scenario {
	return bench.Scenario{Name: "late", Load: bench.Load{Seed: seedLate, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "long", Clients: 1, Requests: 1, PromptWords: bench.LongWords, MaxTokens: 4},
		{Name: "short", Clients: 1, Requests: 1, PromptWords: 20, MaxTokens: 4, Delay: time.Duration(1+round) * 200 * time.Millisecond},
	}}}
}

func shortTTFT(r bench.Result) float64 { return r.Class("short").TTFT.P50 }

// prefix measures a request whose prompt begins like that of a request that is still being
// answered.
func (l *lab) prefix() error {
	targets, err := l.targets(l.few(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(40*time.Second, func(round int) error {
		return l.round(targets, prefixLoad(), round)
	})
	if err != nil {
		return err
	}
	first := func(r bench.Result) float64 { return r.Class("first").TTFT.P50 }
	work := "second request with the same 2,000-token prefix, other slot: TTFT"
	l.lower(work, "the first", l.median("prefix", penstock, secondTTFT), l.median("prefix", penstock, first), 20)
	l.inform(work+", llama-server", "its first", l.median("prefix", llama, secondTTFT), l.median("prefix", llama, first))
	return nil
}

func prefixLoad() bench.Scenario {
	return bench.Scenario{Name: "prefix", Load: bench.Load{Seed: seedPrefix, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "first", Clients: 1, Requests: 1, PromptWords: 2008, SharedWords: 2000, MaxTokens: 200},
		{Name: "second", Clients: 1, Requests: 1, PromptWords: 2008, SharedWords: 2000, MaxTokens: 8, After: "first"},
	}}}
}

func secondTTFT(r bench.Result) float64 { return r.Class("second").TTFT.P50 }

// tick measures the scheduler's own time in a tick.
func (l *lab) tick() error {
	l.stopServers()
	out, err := l.output("go", "test", "-run", "^$", "-bench", "Tick/slots=(64|256)$", "-benchmem", "-benchtime", "20000x", "-count", "3", "./scheduler")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		slots int
		limit float64 // microseconds
	}{{64, 20}, {256, 60}} {
		us, allocations, err := parseTick(out, c.slots)
		if err != nil {
			return err
		}
		l.report.Rows = append(l.report.Rows, row{
			Work: fmt.Sprintf("scheduler's own time a tick, %d slots", c.slots), Measured: fmt.Sprintf("%.1f µs, %.0f allocations", us, allocations),
			Required: fmt.Sprintf("under %.0f µs, no allocation per token", c.limit), Reached: yesNo(us < c.limit && allocations < 1)})
	}
	return nil
}
