// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/host/bench"
)

type quantisedModel struct {
	name   string
	tokens int // of an answer
}

// quantised are models as llama-quantize writes them, with the answers' length that makes a run
// last some seconds.
var quantised = []quantisedModel{
	{"135m-q4_k_m", 64}, {"135m-q5_k_m", 64}, {"135m-q6_k", 64}, {"135m-iq4_xs", 64}, {"moe-mxfp4_moe", 64},
	{"1b-q4_k_m", 16}, {"1b-q5_k_m", 16}, {"1b-q6_k", 16}, {"1b-iq4_xs", 16},
}

// quantTime is about how long one of them is measured; each has one round at least.
const quantTime = 20 * time.Second

// quants measures one stream, and bursts of 8 and 16, on the types of weights that people download.
func (l *lab) quants() error {
	whole := l.model
	defer func() { l.model = whole }()
	for _, name := range l.chosen {
		if !slices.ContainsFunc(quantised, func(q quantisedModel) bool { return q.name == name }) {
			return fmt.Errorf("-quants: %q is not known", name)
		}
	}
	for _, q := range quantised {
		if len(l.chosen) > 0 && !slices.Contains(l.chosen, q.name) {
			continue
		}
		l.model = filepath.Join(l.models, q.name+".gguf")
		if err := l.quant(q.name, q.tokens); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

func (l *lab) quant(name string, tokens int) error {
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	sizes := []int{1, 8, 16}
	scenario := func(n int) string { return fmt.Sprintf("%s, %s", name, streamsOf(n)) }
	err = l.repeat(quantTime, func(round int) error {
		for _, n := range sizes {
			s := bench.Batch(uint64(seedQuants+100*n), scenario(n), n)
			s.Load.Classes[0].MaxTokens = tokens
			if err := l.round(targets, s, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range sizes {
		least := 1.3
		if n == 1 {
			least = 1.05
		}
		l.faster(scenario(n)+", tokens/s", scenario(n), tokensPerSecond, least)
	}
	for _, n := range sizes[1:] {
		l.notHigher(scenario(n), streamGaps)
	}
	return nil
}

func streamsOf(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("burst of %d", n)
}

// streamGaps is what the streams of a run waited between two pieces of text.
func streamGaps(r bench.Result) bench.Latency { return r.Class("stream").ITL }
