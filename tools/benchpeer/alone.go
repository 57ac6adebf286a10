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

// shallow is a model of a third of the layers, so that the prompt of the part deep takes a third
// of the time.
const shallow = "shallow-q4_0"

// deep measures one stream after a long prompt, where reading the KV cache takes longer than
// reading the weights, with cells of 16 bits and of eight.
func (l *lab) deep() error {
	whole := l.model
	defer func() { l.model, l.cells = whole, "" }()
	l.model = filepath.Join(l.models, shallow+".gguf")
	work := func(cells string) string {
		return fmt.Sprintf("1 stream after %d words, cells in %s", deepWords, cells)
	}
	perSecond := func(r bench.Result) float64 { return ratio(1000, r.Class("stream").ITL.P50) }
	for _, c := range []struct {
		cells string
		least float64
	}{{"f16", 1.2}, {"q8_0", 3}} {
		l.cells = c.cells
		if err := l.deepWith(work(c.cells)); err != nil {
			return err
		}
		l.faster(work(c.cells)+", tokens/s by the median ITL", work(c.cells), perSecond, c.least)
	}
	l.atLeast(work("q8_0")+", against f16", penstock, l.median(work("q8_0"), penstock, perSecond), l.median(work("f16"), penstock, perSecond), 1.4)
	return nil
}

// deepWith computes the prompt once; then the servers take turns with short answers to it.
func (l *lab) deepWith(scenario string) error {
	size := bench.Size{Slots: 1, Context: 20 << 10, Threads: l.threads}
	targets, err := l.targets(size, penstock, llama)
	if err != nil {
		return err
	}
	load := func(answer int) bench.Load {
		return bench.Load{Seed: seedDeep, Temperature: bench.Temperature, Classes: []bench.Class{
			{Name: "stream", Clients: 1, Requests: 1, PromptWords: deepWords + 8, SharedWords: deepWords, MaxTokens: answer}}}
	}
	for _, t := range targets {
		if _, err := bench.Run(l.ctx, t, load(1)); err != nil {
			return err
		}
	}
	s := bench.Scenario{Name: scenario, Load: load(128), Same: true}
	return l.repeat(30*time.Second, func(round int) error { return l.round(targets, s, round) })
}

// repeating is the model whose greedy text begins again after 32 tokens. Another's may end up in
// such a loop, or not, as kernels round.
const repeating = "loop-q4_0"

// guesses measures one stream with and without speculation, on repetitive text and on text without
// repetition.
func (l *lab) guesses() error {
	random := l.model
	defer func() { l.model = random }()
	for _, text := range []struct {
		name, model string
		temperature float64
		least       float64
	}{
		{"repetitive text", filepath.Join(l.models, repeating+".gguf"), 0, 2},
		{"text without repetition", random, bench.Temperature, 0.98},
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
