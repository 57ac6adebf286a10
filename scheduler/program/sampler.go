// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/scheduler/chain"
)

// Chain makes the samplers that branches draw with: one for each, as samplers count tokens and
// have a generator of random numbers.
type Chain struct {
	stages func(branch uint64, before int) ([]chain.Stage, error)
}

// NewChain makes a chain. stages makes those of a branch, by its number, from 0 in the order in
// which branches were opened, and how often it has made some for that branch before.
func NewChain(stages func(branch uint64, before int) ([]chain.Stage, error)) *Chain {
	return &Chain{stages}
}

// mostSamplers is how many samplers a branch keeps: each may have memory for a candidate of each
// token.
const mostSamplers = 2

// sampler is a chain at work for one branch.
type sampler struct {
	of      *Chain
	chain   *chain.Chain
	grammar *grammarStage // nil: the branch follows none
	told    int           // tokens of the branch that the chain knows
	stale   bool          // it knows others after them

	row   chain.Row
	loans sync.WaitGroup

	holders atomic.Int32 // the branch, and each of its runs until the tick is done with it
}

// sampler is the branch's sampler of a chain, which knows all of its tokens.
func (b *Branch) sampler(c *Chain) (*sampler, error) {
	i := slices.IndexFunc(b.samplers, func(s *sampler) bool { return s.of == c })
	if i < 0 {
		if b.made == nil {
			b.made = map[*Chain]int{}
		}
		stages, err := c.stages(b.number-1, b.made[c])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		b.made[c]++
		s := &sampler{of: c}
		if b.follows != nil {
			s.grammar = &grammarStage{words: make([]uint32, (b.run.options.Vocabulary+31)/32)}
			stages = append([]chain.Stage{s.grammar}, stages...)
		}
		s.chain = chain.New(stages, b.run.options.Vocabulary, 0)
		s.chain.MaskBy(b.run.options.Masker)
		if len(b.samplers) == mostSamplers {
			b.samplers[0].release()
			b.samplers = slices.Delete(b.samplers, 0, 1)
		}
		s.hold()
		b.samplers, i = append(b.samplers, s), len(b.samplers)
	}
	s := b.samplers[i]
	return s, b.tell(s)
}

// tell tells a sampler where the branch is.
func (b *Branch) tell(s *sampler) (err error) {
	if s.grammar != nil {
		if s.grammar.at, err = b.grammarPosition(); err != nil {
			return err
		}
	}
	err = asNoToken(s.tell(slices.Clip(b.tokens), b.base))
	if s.grammar != nil {
		s.grammar.at = b.follows.states[len(b.follows.states)-1] // whatever it has accepted meanwhile
	}
	return err
}

// tell tells the chain of the branch's tokens, the first `prompt` of which are the prompt.
func (s *sampler) tell(tokens []Token, prompt int) error {
	defer func() { s.told, s.stale = len(tokens), false }()
	switch {
	case !s.chain.Begun():
		return s.chain.Begin(tokens, prompt)
	case s.stale:
		return s.chain.Reset(tokens, prompt)
	}
	for _, t := range tokens[s.told:] {
		if t < 0 {
			continue // a picture was not drawn, and no stage knows its rows
		}
		for i := range s.chain.Stages() {
			if _, err := s.chain.Accept(i, t, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut notes that the branch has only the first n tokens.
func (s *sampler) cut(n int) {
	if s.told > n {
		s.told, s.stale = n, true
	}
}

// draw draws a token from a row.
func (s *sampler) draw(row *Row) (Token, error) {
	if row.empty() {
		return -1, ErrNoToken
	}
	if s.chain.Prepares() {
		if err := s.chain.Prepare(); err != nil {
			return -1, asNoToken(err)
		}
	}
	if err := row.lendTo(&s.row, &s.loans); err != nil {
		return -1, err
	}
	defer row.returned()
	t, _, err := s.chain.Draw(&s.row)
	return t, asNoToken(err)
}

// asNoToken makes an ErrNoToken of what a chain says where no token is possible.
func asNoToken(err error) error {
	if errors.Is(err, chain.ErrNoToken) || errors.Is(err, chain.ErrNotAllowed) {
		return fmt.Errorf("%w: %w", ErrNoToken, err)
	}
	return err
}

// hold keeps the sampler open until it was released as often. The last release closes it.
func (s *sampler) hold() { s.holders.Add(1) }

func (s *sampler) release() {
	if s.holders.Add(-1) == 0 {
		chain.Close(s.chain.Stages())
	}
}

// running is a branch that goes on without its program.
type running struct {
	sampler *sampler
	most    int // tokens
	scored  bool
	begun   bool // the tick has taken it over
}

// Sample draws a token from the row with a chain, and does not append it. Errors: ErrOver,
// ErrMisuse without a row, ErrNoToken, ErrRefused.
func (b *Branch) Sample(c *Chain) (Token, error) {
	if err := b.whyUnreadable(); err != nil {
		return -1, err
	}
	s, err := b.sampler(c)
	if err != nil {
		return -1, err
	}
	return s.draw(b.row)
}

// Run has the branch go on by itself with the next wait: up to n tokens are drawn with a chain and
// appended, fewer where a token is drawn that ends answers, or where there is no room for more. A
// wait for the branch waits for that; until then nothing else can be done with it but Close. Where
// the branch has its row, the first token is drawn from it at once. Scored: as for Append. Errors:
// ErrOver, ErrContextFull, ErrBudget, ErrNoToken, ErrMisuse, ErrRefused.
func (b *Branch) Run(c *Chain, n int, scored bool) error {
	r := b.run
	if err := b.whyUnusable(); err != nil {
		return err
	}
	unpaid := b.unpaid()
	room, left := r.options.Longest-len(b.tokens), r.options.Tokens-r.used-r.reserved-unpaid
	switch {
	case r.isOver():
		return ErrOver
	case b.endsOnPiece() != nil:
		return b.endsOnPiece()
	case n < 1:
		return fmt.Errorf("%w: a run of %d tokens", ErrMisuse, n)
	case room < 1:
		return fmt.Errorf("%w: a branch of %d tokens is to run", ErrContextFull, len(b.tokens))
	case left < 1:
		return fmt.Errorf("%w: %d are in branches", ErrBudget, r.used)
	}
	n = min(n, room, left)
	s, err := b.sampler(c)
	if err != nil {
		return err
	}
	if r.used += unpaid; b.row != nil {
		if n--; !b.first(s, scored, n == 0, &err) || err != nil {
			return err
		}
	}
	s.hold()
	r.reserved += n
	b.paid = true
	b.changed()
	b.runs = &running{sampler: s, most: n, scored: scored}
	return nil
}

// first draws the first token of a run, which may be the only one, from the row. It reports
// whether the run goes on.
func (b *Branch) first(s *sampler, scored, only bool, err *error) bool {
	t, failed := s.draw(b.row)
	ends := failed == nil && b.run.options.Ends(t)
	if ends || failed != nil {
		b.run.used++ // a run without a token counts as one: there would be no end to them
	}
	switch {
	case errors.Is(failed, ErrNoToken):
		b.finish(Stuck)
		return false
	case failed != nil:
		*err = failed
		return false
	case ends:
		b.finish(Ended)
		return false
	}
	if *err = b.Append([]Token{t}, scored); *err == nil && only {
		b.finish(Ran)
		return false
	}
	if *err == nil {
		*err = b.tell(s)
	}
	return true
}

// finish notes how a run has ended.
func (b *Branch) finish(how State) {
	b.changed()
	b.end, b.finished = how, true
}
