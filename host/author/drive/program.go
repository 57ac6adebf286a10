// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"math/rand/v2"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// Writing is what a program writes an answer with.
type Writing struct {
	Words      *Words
	Summarizer program.Summarizer
	Masker     chain.Masker
	// Row is what the model says after some tokens.
	Row func(tokens []program.Token) []float32
	// Draw draws a token from a row, in the place of every chain that the program asks for.
	Draw func(v *chain.View, random *rand.Rand) error
	// Opened is called when the program was opened, with what that took.
	Opened func(stage.Usage)
	// Waited is called at each wait with what was shown since the last one, and when the program
	// has returned. If it returns false, the answer ends.
	Waited func(shown []program.Shown) bool
}

// Write has a program write an answer, and returns what all of it took.
func (w Writing) Write(p *load.Plugin, r plugin.RequestInfo, prompt []program.Token) (used stage.Usage, err error) {
	r.Chain = func([]byte) (func(seed uint32) ([]chain.Stage, error), error) {
		return func(seed uint32) ([]chain.Stage, error) {
			return []chain.Stage{&sampler{w.Draw, rand.New(rand.NewPCG(uint64(seed), 2))}}, nil
		}, nil
	}
	r.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		return w.Words.Tokenize(string(messages), false, false)
	}
	s, err := stage.New(p, r)
	if err != nil {
		return used, err
	}
	of := stage.Program{Stage: s}
	defer func() { _ = of.Close() }() // a fault of close concerns nobody, and is counted
	if err := of.Reset(prompt, len(prompt)); err != nil {
		return used, err
	}
	w.Opened(s.Usage())
	branches := p.Branches(r.Config)
	run := program.New(&program.Program{Main: of.Main, Branches: branches}, program.Options{Prompt: prompt, Vocabulary: w.Words.Size(),
		Pieces:  program.Pieces{Table: pieces, Has: func(piece.Shape) bool { return true }},
		Longest: r.ContextSize - 1, Tokens: program.DefaultTokens(len(prompt), r.MaxTokens, branches), Summarizer: w.Summarizer, Masker: w.Masker,
		Ends: func(t program.Token) bool { return t == EndToken }})
	err = run.Drive(w.Row, w.Waited)
	return s.Usage(), err
}

// sampler is the one stage of a chain.
type sampler struct {
	draw   func(v *chain.View, random *rand.Rand) error
	random *rand.Rand
}

// Traits implements chain.Stage.
func (*sampler) Traits() chain.Traits { return chain.Traits{Name: "dist"} }

// Native implements chain.Stage.
func (*sampler) Native() bool { return false }

// Apply implements chain.Stage.
func (s *sampler) Apply(v *chain.View) error { return s.draw(v, s.random) }

// Accept implements chain.Stage.
func (*sampler) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage.
func (*sampler) Reset([]scheduler.Token, int) error { return nil }

// Close implements chain.Stage.
func (*sampler) Close() error { return nil }
