// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// Writing is what a program writes an answer with.
type Writing struct {
	Vocabulary plugin.Vocabulary
	Summarizer program.Summarizer // nil: the portable one
	Masker     chain.Masker       // nil: the portable one
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
	r.Chain = func(context.Context, []byte) (func(seed uint32) ([]chain.Stage, error), error) {
		return chains(w.Draw), nil
	}
	r.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		return w.Vocabulary.Tokenize(string(messages), false, false)
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
	_, err = w.Run(&program.Program{Main: of.Main, Branches: p.Branches(r.Config)}, r, prompt)
	return s.Usage(), err
}

// Written is what has come of a program's run.
type Written struct {
	Shown    [][]program.Shown  // of each choice, as its client gets it
	Adopted  []*program.Adopted // by choice; nil: it ends with the program
	Computed int                // rows that the model was asked for
}

// Run runs a program on an instance that was opened. A choice ends as with a server: before an end
// token, and with the request's last token. The error is the program's.
func (w Writing) Run(p *program.Program, r plugin.RequestInfo, prompt []program.Token) (Written, error) {
	ends := func(t program.Token) bool { return w.Vocabulary.Attributes(t)&abi.AttrEnd != 0 }
	if w.Summarizer == nil {
		w.Summarizer = program.Portable{}
	}
	if w.Masker == nil {
		w.Masker = masker{}
	}
	run := program.New(p, program.Options{Prompt: prompt, Vocabulary: w.Vocabulary.Size(),
		Pieces:  program.Pieces{Table: pieces, Has: func(piece.Shape) bool { return true }},
		Longest: r.ContextSize - 1, Tokens: program.DefaultTokens(len(prompt), r.MaxTokens, p.Branches), Summarizer: w.Summarizer, Masker: w.Masker, Ends: ends})
	choices := max(1, r.Choices)
	for range choices - 1 {
		run.AddChoice()
	}
	made, open := Written{Shown: make([][]program.Shown, choices)}, choices
	ended := make([]bool, choices)
	err := run.Drive(func(tokens []program.Token) []float32 {
		made.Computed++
		return w.Row(tokens)
	}, func(shown []program.Shown) bool {
		for _, t := range shown {
			c := t.Choice
			if !ended[c] && !ends(t.Token) {
				made.Shown[c] = append(made.Shown[c], t)
			}
			if !ended[c] && (ends(t.Token) || len(made.Shown[c]) == r.MaxTokens) {
				ended[c] = true
				run.EndChoice(c)
				open--
			}
		}
		return w.Waited(shown) && open > 0
	})
	for c := range choices {
		made.Adopted = append(made.Adopted, run.Adopted(c))
	}
	return made, err
}

// masker masks rows of programs.
type masker struct{}

// MaskRow implements chain.Masker.
func (masker) MaskRow(to, row []float32, allowed []uint32) { chain.MaskRow(to, row, allowed) }

// WithPictures gives rows of −1, as a session has them, to a picture for each run of them. Nobody
// sees what it shows.
func WithPictures(prompt []program.Token) ([]program.Token, error) {
	var all []program.Token
	for at := 0; at < len(prompt); {
		n := 0
		for at+n < len(prompt) && prompt[at+n] == abi.TokenMedia {
			n++
		}
		if n == 0 {
			all = append(all, prompt[at])
			at++
			continue
		}
		hash := sha256.Sum256(fmt.Appendf(nil, "the picture at %d with %d rows", at, n))
		rows, err := pieces.Reserve(piece.Shape{Hash: hash, Rows: n, Positions: n})
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		at += n
	}
	return all, nil
}
