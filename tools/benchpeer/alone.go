// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// deepWords is about how many tokens of context one stream has in the part deep.
const deepWords = 16_000

// deep measures one stream after a long prompt, where reading the KV cache takes longer than reading the weights. The model is told that
// it was trained for that.
func (l *lab) deep() error {
	size := bench.Size{Slots: 1, Context: 20 << 10, Threads: l.threads}
	l.stopServers()
	var targets []bench.Target
	for _, name := range []string{penstock, llama} {
		s := &server{name: name, key: "deep " + name}
		if err := l.start(s, l.command(name, size, "--override-kv", "llama.context_length=int:32768")); err != nil {
			return err
		}
		targets = append(targets, bench.Target{Name: name, Streamer: s.client})
	}
	load := bench.Scenario{Name: "deep", Load: bench.Load{Seed: seedDeep, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: 1, Requests: 3, PromptWords: deepWords + 8, SharedWords: deepWords, MaxTokens: 48}}}}
	if err := l.round(targets, load, 0); err != nil {
		return err
	}
	perSecond := func(r bench.Result) float64 { return ratio(1000, r.Class("stream").ITL.P50) }
	l.faster(fmt.Sprintf("1 stream after %d words, tokens/s by the median ITL", deepWords), "deep", perSecond, 1.2)
	return nil
}

// repeating is the model whose greedy text begins again after 32 tokens. Another's may end up in such a loop, or not, as kernels round.
const repeating = "loop-q4_0"

// guesses measures one stream with and without speculation, on text that repeats itself and on text that does not.
func (l *lab) guesses() error {
	random := l.model
	defer func() { l.model = random }()
	for _, text := range []struct {
		name, model string
		temperature float64
		least       float64
	}{
		{"text that repeats itself", filepath.Join(l.models, repeating+".gguf"), 0, 2},
		{"text that does not", random, bench.Temperature, 0.98},
	} {
		l.model = text.model
		targets, err := l.targets(l.many(), penstock, unguessed)
		if err != nil {
			return err
		}
		s := bench.Single(seedGuesses, 2)
		s.Name, s.Load.Temperature = text.name, text.temperature
		if err := l.repeat(20*time.Second, func(round int) error { return l.round(targets, s, round) }); err != nil {
			return err
		}
		l.fasterThan(unguessed, "1 stream, "+text.name+", tokens/s", text.name, tokensPerSecond, text.least)
	}
	return nil
}
