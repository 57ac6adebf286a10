// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// Writing is what a program needs to write an answer.
type Writing struct {
	Vocabulary plugin.Vocabulary
	Summarizer program.Summarizer // nil: the portable one
	Masker     chain.Masker       // nil: the portable one
	// Row returns the model's logits after some tokens.
	Row func(tokens []program.Token) []float32
	// Draw draws a token from a row, in place of every chain that the program asks for.
	Draw func(v *chain.View, random *rand.Rand) error
	// Opened is called when the program was opened, with what opening used.
	Opened func(stage.Usage)
	// Waited is called at each wait with what was shown since the last one, and when the program has
	// returned. If it returns false, the answer ends.
	Waited func(shown []program.Shown) bool
}

// Write has a program write an answer, and returns what it used.
func (w Writing) Write(p *load.Plugin, r plugin.RequestInfo, prompt []program.Token) (used stage.Usage, err error) {
	r.Chain = func(context.Context, []byte) (func(seed uint32) ([]chain.Stage, error), error) {
		return oneStageChains(w.Draw), nil
	}
	r.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		return w.Vocabulary.Tokenize(string(messages), false, false)
	}
	s, err := stage.New(p, r)
	if err != nil {
		return used, err
	}
	of := stage.Program{Stage: s}
	defer func() { _ = of.Close() }() // a fault of close is counted and otherwise ignored
	if err := of.Reset(prompt, len(prompt)); err != nil {
		return used, err
	}
	w.Opened(s.Usage())
	_, err = w.Run(&program.Program{Main: of.Main, Branches: p.Branches(r.Config)}, r, prompt)
	return s.Usage(), err
}

// Written is the outcome of a program's run.
type Written struct {
	Shown    [][]program.Shown  // of each choice, as its client gets it
	Adopted  []*program.Adopted // by choice; nil: the choice ends with the program
	Computed int                // rows that the model computed
}

// Run runs a program on an open instance. As on a server, a choice ends before an end token and
// with the request's last token. The error is the program's.
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

// WithPictures replaces each run of −1, which stands for a picture's rows in a session, by the rows
// of a made-up picture.
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

// Table is a made-up model: its logits after some tokens. The entry with the longest After that the
// tokens end with counts, and of equally long ones the first. After other tokens all logits are 0.
// A picture's rows are tokens of −1.
type Table []Entry

// Entry has a row of the model, or tokens that it says one after another: exactly one of
// Probabilities, Logits and Says.
type Entry struct {
	After         []program.Token `json:"after,omitempty"`         // empty: any tokens
	Probabilities []float64       `json:"probabilities,omitempty"` // of each token; they need not add up to 1
	Logits        []float32       `json:"logits,omitempty"`        // of each token
	Says          []program.Token `json:"says,omitempty"`          // each has the logit 10 in its turn, and the others 0
}

// Bounds of a table: entries, tokens of a list, and tokens of all lists, since a row may look at
// each of them.
const (
	mostEntries = 4096
	mostTokens  = 1024
	mostOfAll   = 1 << 16
)

// sayLogit is the logit of a token that the model says.
const sayLogit = 10

// Check refuses values that no table for a vocabulary of n tokens can have. field is the name of
// the table in errors.
func (t Table) Check(field string, n int) error {
	if len(t) > mostEntries {
		return fmt.Errorf("%s: %d entries; it has %d at most", field, len(t), mostEntries)
	}
	all := 0
	for i := range t {
		if err := t[i].check(n); err != nil {
			return fmt.Errorf("%s[%d].%w", field, i, err)
		}
		if all += len(t[i].After) + len(t[i].Says); all > mostOfAll {
			return fmt.Errorf("%s: more than %d tokens in after and says of all entries; leave some out", field, mostOfAll)
		}
	}
	return nil
}

func (e *Entry) check(n int) error {
	given := 0
	for _, size := range []int{len(e.Probabilities), len(e.Logits), len(e.Says)} {
		if size > 0 {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("probabilities, logits and says: %d of them are given; an entry has one", given)
	}
	for name, list := range map[string][]program.Token{"after": e.After, "says": e.Says} {
		if len(list) > mostTokens {
			return fmt.Errorf("%s: %d tokens; there are %d at most", name, len(list), mostTokens)
		}
		for i, token := range list {
			if int(token) >= n || token < 0 && (name == "says" || token != abi.TokenMedia) {
				return fmt.Errorf("%s[%d]: there is no token %d; the vocabulary has %d, from 0", name, i, token, n)
			}
		}
	}
	for name, size := range map[string]int{"probabilities": len(e.Probabilities), "logits": len(e.Logits)} {
		if size > 0 && size != n {
			return fmt.Errorf("%s: %d numbers; give one for each of the %d tokens of the vocabulary", name, size, n)
		}
	}
	sum := 0.0
	for i, p := range e.Probabilities {
		if sum += p; p < 0 {
			return fmt.Errorf("probabilities[%d]: %v; a probability is 0 or more", i, p)
		}
	}
	if len(e.Probabilities) > 0 && (sum == 0 || sum > math.MaxFloat32) {
		return fmt.Errorf("probabilities: their sum is %v; they are like shares of 1", sum)
	}
	return nil
}

// Row returns the model's logits after some tokens, as plugins see them: one for each of n tokens.
func (t Table) Row(n int, tokens []program.Token) []float32 {
	row, longest := make([]float32, n), -1
	for i := range t {
		e := &t[i]
		for said := range max(1, len(e.Says)) {
			if length := len(e.After) + said; length > longest && e.follows(tokens, said) {
				longest = length
				e.fillRow(row, said)
			}
		}
	}
	return row
}

// follows reports whether tokens end with After and the first said tokens of Says.
func (e *Entry) follows(tokens []program.Token, said int) bool {
	before, ok := cutSuffix(tokens, e.Says[:said])
	if ok {
		_, ok = cutSuffix(before, e.After)
	}
	return ok
}

func cutSuffix(tokens, suffix []program.Token) ([]program.Token, bool) {
	at := len(tokens) - len(suffix)
	if at < 0 || !slices.Equal(tokens[at:], suffix) {
		return nil, false
	}
	return tokens[:at], true
}

// fillRow fills a row with the entry's logits once it has said some tokens.
func (e *Entry) fillRow(row []float32, said int) {
	clear(row)
	copy(row, e.Logits)
	for i, p := range e.Probabilities {
		row[i] = float32(math.Log(p))
	}
	if len(e.Says) > 0 {
		row[e.Says[said]] = sayLogit
	}
}
