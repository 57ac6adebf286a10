// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// following is how far an answer has come in its grammar. A nil one follows none. Errors are an
// unsatisfied, as the scheduler knows it.
//
// On the tick it takes only few steps. Where those do not suffice it is slow, and the answer gets a
// background sampler, which takes as many as it needs: beside the next forward passes if need be.
// When tokens are quick again, the tick draws them.
type following struct {
	kept        *keptGrammar // nil: released
	grammar     *grammar.Grammar
	tokens      *grammar.Vocabulary
	piece       func(scheduler.Token) string // its bytes, with the text of control tokens
	spell       func(text []byte) []scheduler.Token
	start, here grammar.State
	behind      []told // tokens that here does not know yet
	rests       bool   // it restricts nothing, and is told no token
	hopeless    bool   // the masks take too long even with as many steps as there may be
	pace
	budget budget
	brief  bool // the answer ends as soon as only white space may follow
	pool   *sync.Pool
}

// told is a token that the grammar is told.
type told struct {
	token scheduler.Token
	skip  int // bytes of its text that are left out
}

// hurriedSteps are what a question may take on the tick: a quarter of a millisecond or less.
const hurriedSteps = 1000

// newFollowing begins with prefix, the tokens of the prompt that the grammar begins with. It takes
// over the use of the grammar, unless it returns an error.
func (e *Engine) newFollowing(g *keptGrammar, prefix []scheduler.Token) (*following, error) {
	f := &following{kept: g, grammar: g.is, tokens: e.tokens(), piece: e.model.SpecialPiece, spell: e.spelling, here: g.is.Start(), pool: &e.scratch}
	n, err := f.count(prefix, 0, nil)
	if err != nil {
		return nil, err
	}
	if n < len(prefix) {
		return nil, fmt.Errorf("the grammar cannot begin as the prompt ends: its token %d does not fit", prefix[n])
	}
	if err = f.accept(prefix, 0); err == nil {
		err = f.catchUp()
	}
	if err != nil {
		return nil, err
	}
	f.start, f.slow, f.late = f.here, false, false
	return f, nil
}

// release ends the use of the grammar.
func (f *following) release() {
	if f != nil && f.kept != nil {
		f.kept.release()
		f.kept = nil
	}
}

func (f *following) guards() bool { return f != nil && !f.rests }

// isSlow reports whether the answer wants a background sampler. What is left of one that is to be
// complete may take long to find out, at each token.
func (f *following) isSlow() bool { return f != nil && (f.slow || f.budget.limit > 0) }

// pace tells who draws the tokens of an answer: the tick, or where that takes too long, a
// background sampler.
type pace struct {
	hurried bool // the tick asks
	slow    bool // the tick leaves the tokens to a background sampler
	late    bool // few steps did not suffice for the present token

	// trial is how many tokens of a slow answer must be quick, one after another, before the tick
	// draws them again: none the first time that it is slow, and more each time that it is slow
	// again.
	trial struct{ wanted, left, next int }
}

// mostTried bounds a trial: of an answer that is slow again and again, one token in so many holds
// up the tick.
const mostTried = 63

// turnSlow notes that few steps did not suffice.
func (f *following) turnSlow() {
	if !f.slow {
		f.trial.wanted, f.trial.next = f.trial.next, min(2*f.trial.next+1, mostTried)
	}
	f.slow, f.late = true, true
}

// drawn notes that a background sampler has drawn a token.
func (f *following) drawn() {
	if f == nil || !f.slow {
		return
	}
	if f.trial.left--; f.late {
		f.trial.left = f.trial.wanted
	}
	f.slow, f.late = f.trial.left > 0, false
}

// reset goes back to the beginning of the answer.
func (f *following) reset() {
	if f != nil {
		f.here, f.behind, f.budget.written = f.start, f.behind[:0], 0
	}
}

// wrote counts tokens of the answer, whether the grammar is told them or not.
func (f *following) wrote(tokens int) {
	if f != nil {
		f.budget.written += tokens
	}
}

// unhurried asks with few steps, and if those do not suffice with as many as it takes, unless the
// tick waits.
func (f *following) unhurried(ask func(steps int) error) error {
	err := ask(hurriedSteps)
	if !errors.Is(err, grammar.ErrLater) {
		return unfollowed(err)
	}
	if f.turnSlow(); f.hurried {
		return chain.ErrSlow
	}
	return unfollowed(ask(math.MaxInt))
}

// after is the state after a token, of whose text skip bytes are left out; false where it may not
// come.
func (f *following) after(s grammar.State, t scheduler.Token, skip int) (to grammar.State, fits bool, err error) {
	err = f.unhurried(func(steps int) (err error) {
		if text := f.piece(t); skip > 0 && text != "" {
			to, fits, err = f.grammar.AdvanceWithin(s, []byte(text[min(skip, len(text)):]), steps)
		} else {
			to, fits, err = f.grammar.TokenWithin(s, f.tokens, t, steps)
		}
		return err
	})
	return to, fits, err
}

// catchUp moves on by the tokens that it is behind. Where one does not fit, nothing fits from then
// on, until reset.
func (f *following) catchUp() error {
	for i, told := range f.behind {
		to, fits, err := f.after(f.here, told.token, told.skip)
		if errors.Is(err, chain.ErrSlow) {
			f.behind = slices.Delete(f.behind, 0, i)
			return err
		}
		if err == nil && !fits {
			err = unfollowed(fmt.Errorf("token %d does not fit the grammar here", told.token))
		}
		if err != nil {
			f.here, f.behind = grammar.State{}, f.behind[:0]
			return err
		}
		f.here = to
	}
	f.behind = f.behind[:0]
	return nil
}

// allows reports whether a token may come next.
func (f *following) allows(t scheduler.Token) (bool, error) {
	if err := f.catchUp(); err != nil {
		return false, err
	}
	to, fits, err := f.after(f.here, t, 0)
	if fits && err == nil {
		fits = f.affords(to, 1)
	}
	return fits, err
}

// count is how many of tokens may come, one after the other, of whose first skip bytes are left
// out; nothing changes. of says how many tokens of the answer there are up to each; nil: as many
// as these.
func (f *following) count(tokens []scheduler.Token, skip int, of []int) (int, error) {
	if f == nil {
		return len(tokens), nil
	}
	if err := f.catchUp(); err != nil {
		return 0, err
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
		if f.brief && f.grammar.Over(s) {
			break // the answer ends before the others
		}
	}
	return len(tokens), nil
}

// accept moves on by tokens, of whose first skip bytes are left out. Where that takes long, it is
// left for the next question: the tick may wait.
func (f *following) accept(tokens []scheduler.Token, skip int) error {
	for _, t := range tokens {
		f.behind, skip = append(f.behind, told{t, skip}), 0
	}
	before := f.hurried
	f.hurried = true
	err := f.catchUp()
	f.hurried = before
	if errors.Is(err, chain.ErrSlow) {
		return nil
	}
	return err
}

// prepare makes the mask that the next token may need, while nobody waits for it.
func (f *following) prepare() error {
	if err := f.catchUp(); err != nil {
		return err
	}
	w := f.scratch()
	defer f.pool.Put(w)
	if !f.hopeless {
		err := f.unhurried(func(steps int) error { return f.grammar.MaskWithin(f.here, f.tokens, w.mask, steps) })
		f.hopeless = errors.Is(err, grammar.ErrAmbiguous)
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

// fewAllowed is how many allowed tokens a sampler is given as a list; of more, it looks for the
// likeliest itself.
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

// fill writes which tokens of a row may come next: where it takes too long to tell of all, of the
// likeliest.
func (f *following) fill(w *scratch, row []float32) error {
	err := f.unhurried(func(steps int) error { return f.grammar.MaskWithin(f.here, f.tokens, w.mask, steps) })
	if !errors.Is(err, grammar.ErrAmbiguous) {
		return err
	}
	if f.turnSlow(); f.hurried { // to try single tokens takes long
		return chain.ErrSlow
	}
	clear(w.mask)
	n := native.TopLogits(row, w.ids[:min(tried, len(w.ids))], w.logits)
	if _, few := f.grammar.Few(f.here, f.tokens, w.ids[:n], w.mask); few != nil {
		return unfollowed(few)
	}
	if !w.any() {
		return err
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

// Answers that are to be complete within their most tokens (sampling.Params.Complete): a drawn
// token is tested for that as for the grammar, and only where it fails are the tokens looked for
// after which the rest of the answer fits. Where it cannot be complete any more, because a client,
// a plugin or a bias has put something else there, the grammar alone holds.

// budget is how many tokens an answer may have. It is told of each.
type budget struct {
	limit   int // 0: no limit
	written int
}

// left is how many tokens may still come.
func (b budget) left() int { return b.limit - b.written }

// keepWithin has an answer be complete within a number of tokens. Lazy: it need not begin.
func (f *following) keepWithin(limit int, lazy bool) error {
	least, err := f.grammar.Rest(f.here, f.tokens)
	switch {
	case errors.Is(err, grammar.ErrUnspelled):
		return sampling.Refused("complete", "complete cannot be kept: %v", err)
	case err != nil:
		return sampling.Refused("complete", "complete cannot be kept: it takes too long to find the shortest text that the grammar allows")
	case least > limit && !lazy:
		return sampling.Refused("complete", "complete cannot be kept: the shortest answer takes up to %d tokens, and max_tokens and the context leave %d", least, limit)
	}
	f.budget.limit = limit
	return nil
}

// affords reports whether the answer can still be complete in a state that so many tokens lead to.
func (f *following) affords(s grammar.State, tokens int) bool {
	if f.budget.limit == 0 {
		return true
	}
	if fits, err := f.grammar.Completes(s, f.tokens, f.budget.left()-tokens); fits && err == nil {
		return true
	}
	if f.rests {
		return false // the answer is whole as long as the grammar does not begin
	}
	fits, err := f.grammar.Completes(f.here, f.tokens, f.budget.left())
	return !fits && err == nil // it is lost already
}

// fillWithin writes which tokens may come next after which the answer can still be complete.
// False: there are none.
func (f *following) fillWithin(w *scratch) bool {
	fits, err := f.grammar.MaskCompletable(f.here, f.tokens, f.budget.left(), w.mask)
	return fits && err == nil
}

// choose draws among the tokens that w has, and if the answer cannot be complete then, among those
// after which it can.
func (f *following) choose(w *scratch, draw func() (scheduler.Token, error)) (scheduler.Token, error) {
	t, err := draw()
	if err != nil || f.budget.limit == 0 {
		return t, err
	}
	if fits, err := f.allows(t); fits || err != nil || !f.fillWithin(w) {
		return t, err
	}
	if other, err := draw(); err == nil && other >= 0 {
		return other, nil
	}
	return t, nil // biases forbid all the others
}

// whole reports whether an answer that is to be complete or brief is: no token may follow, or none
// that matters, by the grammar or because none is left.
func (f *following) whole() bool {
	switch {
	case !f.guards() || !f.grammar.Complete(f.here):
		return false
	case f.brief && f.grammar.Over(f.here):
		return true
	}
	return f.budget.limit > 0 && (f.budget.left() <= 0 || f.grammar.Ended(f.here))
}

// ended has an answer end that is whole.
func (s *Stage) ended() chain.Effect { return chain.Effect{Stop: s.rules.whole()} }

// maxAvoided is how many tokens are avoided one by one that would wake a lazy grammar.
const maxAvoided = 64

// avoidWaking draws again while the token would wake a lazy grammar whose text cannot be complete
// any more.
func (s *Stage) avoidWaking(row []float32, t scheduler.Token) (scheduler.Token, error) {
	if s.rules == nil || s.rules.budget.limit == 0 || s.lazy == nil || !s.rules.rests {
		return t, nil
	}
	var w *scratch
	for range maxAvoided {
		if n, err := s.Fits([]scheduler.Token{t}); n == 1 || err != nil {
			break
		}
		if w == nil {
			w = s.rules.scratch()
			defer s.rules.pool.Put(w)
			for i := range w.mask {
				w.mask[i] = ^uint32(0)
			}
		}
		w.mask[t>>5] &^= 1 << (t & 31)
		other, err := w.draw(s.sampler, row)
		if err != nil || other < 0 {
			break
		}
		t = other
	}
	return t, nil
}

// The scheduler is told which tokens come next where a grammar leaves one text alone, as
// the rest of a name of an object's member or of a long value of an enum. A model seldom writes
// such a text in other tokens than the tokeniser does, but it may: so they are a draft, and the
// answer takes what it draws.

// Foresee implements chain.Foreseer.
func (s *Stage) Foresee(most int) []scheduler.Token {
	if !s.rules.guards() || s.undecided || len(s.rules.behind) > 0 || len(s.thinking.force()) > 0 {
		return nil
	}
	return s.rules.foresee(most)
}

const (
	shortestForced = 2 // bytes, for a draft to be worth the thought
	longestForced  = 8 // bytes a token of it
)

// foresee is the tokens of what must come next.
func (f *following) foresee(most int) []scheduler.Token {
	text := f.grammar.Forced(f.here, most*longestForced, hurriedSteps)
	if len(text) < shortestForced {
		return nil
	}
	tokens := f.spell(text)
	return tokens[:min(len(tokens), most)]
}

// spellings are the tokens of texts that grammars force, which are the same in every item of a
// list.
type spellings struct {
	mu    sync.Mutex
	known map[string][]scheduler.Token
}

// maxSpellings is how many of them are kept.
const maxSpellings = 1024

// spelling is the tokens of a text in the middle of an answer, without the last ones in whose
// place a longer one might be that goes on beyond the text.
func (e *Engine) spelling(text []byte) []scheduler.Token {
	k := &e.spelt
	k.mu.Lock()
	defer k.mu.Unlock()
	if tokens, known := k.known[string(text)]; known {
		return tokens
	}
	tokens, err := e.Tokenize(context.Background(), string(text), false, false)
	if err != nil {
		tokens = nil
	}
	if len(tokens) > 0 && text[0] != ' ' && e.Piece(tokens[0]) == " " { // some tokenisers put a space before the first
		tokens = tokens[1:]
	}
	at := 0
	for i, t := range tokens {
		piece := e.Piece(t)
		if !bytes.HasPrefix(text[at:], []byte(piece)) || e.tokens().Longer(text[at:]) {
			tokens = tokens[:i]
			break
		}
		at += len(piece)
	}
	if len(k.known) >= maxSpellings || k.known == nil {
		k.known = map[string][]scheduler.Token{}
	}
	k.known[string(text)] = tokens
	return tokens
}
