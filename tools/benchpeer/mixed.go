// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// The numbers of streams and of clients with long prompts in mixed work.
const (
	streams = 4
	long    = 2
)

var mixedWork = fmt.Sprintf("%d streams + %d clients with %d-word prompts", streams, long, bench.LongWords)

func (l *lab) mixedLoad(name string, seed uint64) bench.Scenario {
	return bench.Mixed(seed, name, streams, long, bench.LongWords, l.window)
}

// mixed measures streams beside long prompts, and each of the two alone.
func (l *lab) mixed() error {
	targets, err := l.targets(l.few(), penstock, llama, llama128)
	if err != nil {
		return err
	}
	generate := bench.Mixed(seedMixed+100, "generation only", streams, 0, 0, l.window/2)
	prefill := bench.Mixed(seedMixed+200, "prefill only", 0, long, bench.LongWords, l.window/2)
	prefill.Load.Classes[0].MaxTokens = 1
	mixed := l.mixedLoad("mixed", seedMixed)
	deadline, _ := l.ctx.Deadline()
	err = l.repeat(time.Until(deadline)*9/10, func(round int) error {
		for _, s := range []bench.Scenario{generate, prefill} {
			if err := l.round(targets[:2], s, round); err != nil {
				return err
			}
		}
		return l.round(targets, mixed, round)
	})
	if err != nil {
		return err
	}
	work := mixedWork + fmt.Sprintf(": p99 ITL of the %d", streams)
	ours := l.median("mixed", penstock, streamITL)
	l.lower(work, llama, ours, l.median("mixed", llama, streamITL), 40)
	l.lower(work, llama128, ours, l.median("mixed", llama128, streamITL), 10)
	l.utilisation()
	return nil
}

// utilisation is the part of the machine's best rates that mixed work reaches. It is 1 if mixing
// prefill and generation costs nothing.
func (l *lab) utilisation() {
	best := func(scenario string, figure func(bench.Result) float64) float64 {
		return max(l.median(scenario, penstock, figure), l.median(scenario, llama, figure))
	}
	bestPrefill, bestGeneration := best("prefill only", promptTokensPerSecond), best("generation only", tokensPerSecond)
	for _, target := range []string{penstock, llama, llama128} {
		prefill, generation := l.median("mixed", target, promptTokensPerSecond), l.median("mixed", target, tokensPerSecond)
		used := ratio(prefill, bestPrefill) + ratio(generation, bestGeneration)
		r := row{Work: "the same: utilisation", Against: fmt.Sprintf("best rates: %.0f prompt and %.0f generated tokens/s", bestPrefill, bestGeneration),
			Measured: fmt.Sprintf("%.2f (%.0f prompt and %.0f generated tokens/s)", used, prefill, generation)}
		if target == penstock {
			r.Required, r.Reached = "0.90", yesNo(used >= 0.90)
		} else {
			r.Work += ", " + target
		}
		l.report.Rows = append(l.report.Rows, r)
	}
}

// target measures mixed work with a target for the time between two tokens.
func (l *lab) target() error {
	for _, ms := range []int{80, 150, 400} {
		name := fmt.Sprintf("mixed, itl_target %d ms", ms)
		l.stopServers()
		s := &server{name: penstock, key: name}
		if err := l.start(s, l.command(penstock, l.few(), "--itl-target", fmt.Sprint(ms)+"ms")); err != nil {
			return err
		}
		if err := l.round([]bench.Target{{Name: penstock, Streamer: s.client}}, l.mixedLoad(name, seedTarget+uint64(100*ms)), 0); err != nil {
			return err
		}
		p99 := l.median(name, penstock, streamITL)
		prefill, generation := l.median(name, penstock, promptTokensPerSecond), l.median(name, penstock, tokensPerSecond)
		times := ratio(p99, float64(ms))
		l.report.Rows = append(l.report.Rows, row{Work: mixedWork + fmt.Sprintf(", `itl_target` %d ms: p99 ITL", ms),
			Measured: fmt.Sprintf("%.0f ms (%.0f prompt and %.0f generated tokens/s)", p99, prefill, generation),
			Against:  fmt.Sprintf("target %d ms", ms), Ratio: fmt.Sprintf("%.2f ×", times), Required: "at most 1.3 ×", Reached: yesNo(times <= 1.3)})
	}
	return nil
}
