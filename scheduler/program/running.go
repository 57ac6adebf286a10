// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"
)

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
	if err := b.readable(); err != nil {
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
	if err := b.usable(); err != nil {
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
