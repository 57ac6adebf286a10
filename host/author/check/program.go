// SPDX-License-Identifier: MIT

package check

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// writing is one answer that a program writes.
type writing struct {
	plugin *load.Plugin
	seed   uint64
	tokens int
	report *Report

	shown []uint64 // a hash of what it has shown by each wait
	waits int
	end   int // bytes of memory
}

// mostWaits is how many waits an answer of so many tokens may have.
func mostWaits(tokens int) int { return 100 * (tokens + 1) }

// write has a program write an answer twice: with the same rows it does the same.
func (r *Report) write(p *load.Plugin, o Options, seed uint64) {
	var first *writing
	for _, way := range []string{"", "the second time"} {
		w := &writing{plugin: p, seed: seed, tokens: o.Tokens, report: r}
		if err := w.run(o.Config); err != nil {
			r.find("answer %d, wait %d: %v", seed, w.waits+1, err)
			return
		}
		if first == nil {
			first = w
			continue
		}
		for i := range max(len(first.shown), len(w.shown)) {
			if i >= len(first.shown) || i >= len(w.shown) || first.shown[i] != w.shown[i] {
				r.find("answer %d, wait %d: %s the plugin did something else; what it does must depend on the request, its seed and what the model says only", seed, i+1, way)
				return
			}
		}
	}
}

func (w *writing) run(config []byte) (err error) {
	history, media := prompt(w.seed)
	s, err := stage.New(w.plugin, plugin.RequestInfo{Config: config, Media: media, Seed: w.seed, MaxTokens: w.tokens, ContextSize: 4096,
		Chain: chains, Prompt: func(_ context.Context, messages []byte) ([]int32, error) {
			return words.Tokenize(string(messages), false, false)
		}})
	if err != nil {
		return err
	}
	p := stage.Program{Stage: s}
	defer func() { _ = p.Close() }() // a fault of close concerns nobody, and is counted
	if err := p.Reset(history, len(history)); err != nil {
		return err
	}
	w.report.used(abi.ExportOpen, s.Usage())
	branches := w.plugin.Branches(config)
	run := program.New(&program.Program{Main: p.Main, Branches: branches}, program.Options{Prompt: history, Pieces: programPieces(), Vocabulary: words.Size(), Longest: 4095,
		Tokens: program.DefaultTokens(len(history), w.tokens, branches), Summarizer: program.Portable{}, Masker: masker{},
		Ends: func(t program.Token) bool { return t == endToken }})
	count, tooLong := 0, false
	err = run.Drive(w.row, func(shown []program.Shown) bool {
		did := fnv.New64a()
		for _, t := range shown {
			record(did, t.Choice, t.Token)
		}
		w.shown, count = append(w.shown, did.Sum64()), count+len(shown)
		w.waits++
		tooLong = w.waits > mostWaits(w.tokens)
		return count < w.tokens && !tooLong
	})
	w.end = s.Usage().Memory
	w.report.held(w.end)
	if err == nil && tooLong {
		err = fmt.Errorf("it has waited %d times for an answer of %d tokens, and has shown %d", w.waits, w.tokens, count)
	}
	var cancelled *plugin.Fault
	if errors.As(err, &cancelled) && errors.Is(cancelled, plugin.CauseCancelled) {
		return nil
	}
	return err
}

// row is what the made-up model says after some tokens, whatever else is asked of it.
func (w *writing) row(tokens []program.Token) []float32 {
	h := fnv.New64a()
	record(h, tokens)
	r := rand.New(rand.NewPCG(w.seed, h.Sum64()))
	row := make([]float32, words.Size())
	for t := range row {
		row[t] = float32(r.NormFloat64() * 5)
	}
	return row
}

// masker masks rows of programs.
type masker struct{}

// MaskRow implements chain.Masker.
func (masker) MaskRow(to, row []float32, allowed []uint32) { chain.MaskRow(to, row, allowed) }

// chains are the sampler chains that programs get, whatever they ask for: each draws by its seed.
func chains([]byte) (func(seed uint32) ([]chain.Stage, error), error) {
	return func(seed uint32) ([]chain.Stage, error) {
		return []chain.Stage{&sampler{rand.New(rand.NewPCG(uint64(seed), 2))}}, nil
	}, nil
}

// sampler draws among the few best.
type sampler struct{ random *rand.Rand }

// Traits implements chain.Stage.
func (*sampler) Traits() chain.Traits { return chain.Traits{Name: "dist"} }

// Native implements chain.Stage.
func (*sampler) Native() bool { return false }

// Apply implements chain.Stage.
func (s *sampler) Apply(v *chain.View) error {
	narrow(v, len(v.Row))
	if v.N == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = v.ID[s.random.IntN(v.N)]
	return nil
}

// Accept implements chain.Stage.
func (*sampler) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage.
func (*sampler) Reset([]scheduler.Token, int) error { return nil }

// Close implements chain.Stage.
func (*sampler) Close() error { return nil }
