// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// following is how far an answer has come in its grammar. A nil one follows none. Errors are an unsatisfied, as the scheduler knows it.
type following struct {
	grammar     *grammar.Grammar
	tokens      *grammar.Vocabulary
	piece       func(scheduler.Token) string // its bytes, with the text of control tokens
	start, here grammar.State
	rests       bool // it restricts nothing, and is told no token
	budget      budget
	pool        *sync.Pool
}

// newFollowing begins with prefix, the tokens of the prompt that the grammar begins with.
func (e *Engine) newFollowing(g *grammar.Grammar, prefix []scheduler.Token) (*following, error) {
	f := &following{grammar: g, tokens: e.tokens(), piece: e.model.SpecialPiece, here: g.Start(), pool: &e.scratch}
	n, err := f.count(prefix, 0, nil)
	if err != nil {
		return nil, err
	}
	if n < len(prefix) {
		return nil, fmt.Errorf("the grammar cannot begin as the prompt ends: its token %d does not fit", prefix[n])
	}
	err = f.accept(prefix, 0)
	f.start = f.here
	return f, err
}

func (f *following) guards() bool { return f != nil && !f.rests }

// reset goes back to the beginning of the answer.
func (f *following) reset() {
	if f != nil {
		f.here, f.budget.written = f.start, 0
	}
}

// wrote counts tokens of the answer, whether the grammar is told them or not.
func (f *following) wrote(tokens int) {
	if f != nil {
		f.budget.written += tokens
	}
}

// after is the state after a token, of whose text skip bytes are left out; false where it may not come.
func (f *following) after(s grammar.State, t scheduler.Token, skip int) (to grammar.State, fits bool, err error) {
	if text := f.piece(t); skip > 0 && text != "" {
		to, fits, err = f.grammar.Advance(s, []byte(text[min(skip, len(text)):]))
	} else {
		to, fits, err = f.grammar.Token(s, f.tokens, t)
	}
	return to, fits, unfollowed(err)
}

// allows reports whether a token may come next.
func (f *following) allows(t scheduler.Token) (bool, error) {
	to, fits, err := f.after(f.here, t, 0)
	if fits && err == nil {
		fits = f.affords(to, 1)
	}
	return fits, err
}

// count is how many of tokens may come, one after the other, of whose first skip bytes are left out; nothing changes. of says how many
// tokens of the answer there are up to each; nil: as many as these.
func (f *following) count(tokens []scheduler.Token, skip int, of []int) (int, error) {
	if f == nil {
		return len(tokens), nil
	}
	s := f.here
	for i, t := range tokens {
		var fits bool
		var err error
		if s, fits, err = f.after(s, t, skip); err != nil || !fits {
			return i, err
		}
		skip = 0
		switch {
		case of == nil:
			fits = f.affords(s, i+1)
		case i+1 == len(of) || of[i+1] > of[i]:
			fits = f.affords(s, of[i])
		}
		if !fits {
			return i, nil
		}
	}
	return len(tokens), nil
}

// accept moves on by tokens, of whose first skip bytes are left out. Where one does not fit, nothing fits from then on, until reset.
func (f *following) accept(tokens []scheduler.Token, skip int) error {
	for _, t := range tokens {
		to, fits, err := f.after(f.here, t, skip)
		if err == nil && !fits {
			err = unfollowed(fmt.Errorf("token %d does not fit the grammar here", t))
		}
		if err != nil {
			f.here = grammar.State{}
			return err
		}
		f.here, skip = to, 0
	}
	return nil
}

// unfollowed says why a grammar cannot be followed any more.
func unfollowed(err error) error {
	if err == nil {
		return nil
	}
	return unsatisfied{err, chain.ErrNotAllowed}
}

// fewAllowed is how many allowed tokens a sampler is given as a list; of more, it looks for the likeliest itself.
const fewAllowed = 1024

// tried is how many tokens are tried where a mask of all takes too long.
const tried = 4096

// scratch is what it takes to choose among the tokens that a grammar allows.
type scratch struct {
	mask   []uint32
	row    []float32
	ids    []int32
	logits []float32
	view   native.Candidates
}

func (f *following) scratch() *scratch {
	if w, ok := f.pool.Get().(*scratch); ok {
		return w
	}
	n := f.tokens.Len()
	return &scratch{mask: make([]uint32, f.tokens.Words()), row: make([]float32, n), ids: make([]int32, n), logits: make([]float32, n)}
}

// fill writes which tokens of a row may come next: where it takes too long to tell of all, of the likeliest.
func (f *following) fill(w *scratch, row []float32) error {
	err := f.grammar.Mask(f.here, f.tokens, w.mask)
	if !errors.Is(err, grammar.ErrAmbiguous) {
		return unfollowed(err)
	}
	clear(w.mask)
	n := native.TopLogits(row, w.ids[:min(tried, len(w.ids))], w.logits)
	if _, few := f.grammar.Few(f.here, f.tokens, w.ids[:n], w.mask); few != nil {
		return unfollowed(few)
	}
	if !w.any() {
		return unfollowed(err)
	}
	return nil
}

func (w *scratch) any() bool {
	for _, bits := range w.mask {
		if bits != 0 {
			return true
		}
	}
	return false
}

func (w *scratch) allows(t scheduler.Token) bool {
	word := int(uint32(t) >> 5)
	return word < len(w.mask) && w.mask[word]>>(t&31)&1 == 1
}
