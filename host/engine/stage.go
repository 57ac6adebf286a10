// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Stage is a run of llama.cpp's samplers with its state for one answer.
type Stage struct {
	sampler *native.Sampler
	name    string // lists what it does, for traces
	view    native.Candidates

	wholeChain bool         // SampleRows can run it
	rules      *following   // of the grammar; nil: there is none
	slow       bool         // a token takes long before the grammar wakes
	first      int32        // the token that the samplers have chosen, while undecided
	undecided  bool         // whether that one fits takes long to tell
	lazy       *lazy        // when the grammar begins; nil: with the answer
	thinking   *thinking    // nil: unknown, or of no interest
	biases     []chain.Bias // if it does nothing else; llama.cpp would copy the whole row to change a few logits
}

var (
	_ chain.Stage    = (*Stage)(nil)
	_ chain.RowTaker = (*Stage)(nil)
	_ chain.Preparer = (*Stage)(nil)
	_ chain.Foreseer = (*Stage)(nil)
	_ chain.Guard    = (*Stage)(nil)
)

// Traits implements chain.Stage. Samplers that begin by narrowing the row take it. Under a grammar
// they may have to look at it again: where that forbids all candidates, they choose from the row.
func (s *Stage) Traits() chain.Traits {
	free := s.rules == nil
	return chain.Traits{Name: s.name, Guards: !free, Prepares: !free, Foresees: !free, TakesRow: free && len(s.biases) == 0, IgnoresRow: free}
}

// Native implements chain.Stage.
func (s *Stage) Native() bool { return s.wholeChain && !s.slow && !s.rules.isSlow() }

// Prepare implements chain.Preparer. It asks for nothing: it makes the mask of an answer whose
// masks take long, which may be needed.
func (s *Stage) Prepare() (chain.Prepared, error) {
	if s.rules.guards() && s.rules.isSlow() {
		return chain.Prepared{}, asChainError(s.rules.prepare())
	}
	return chain.Prepared{}, nil
}

// Apply implements chain.Stage. A whole chain chooses as it does in SampleRows.
func (s *Stage) Apply(v *chain.View) (err error) {
	defer s.rules.drawn()
	if s.wholeChain && v.N < 0 && v.Row != nil {
		v.Chosen, err = s.sample(v.Row)
		return err
	}
	if t, forced := s.forced(); forced {
		v.Chosen = t
		return nil
	}
	if len(s.biases) > 0 && v.N < 0 {
		for _, b := range s.biases {
			v.Row[b.Token] += b.Value
		}
		return nil
	}
	s.view = native.Candidates{Row: v.Row, ID: v.ID, Logit: v.Logit, N: v.N, Chosen: v.Chosen}
	err = s.sampler.Apply(&s.view)
	if t := s.view.Chosen; err == nil && t >= 0 && s.rules.guards() {
		if fits, failed := s.rules.allows(t); failed != nil {
			err = failed
		} else if !fits {
			s.view.Chosen, err = s.redrawAmong(v)
		}
	} else if t >= 0 && err == nil && v.Row != nil {
		s.view.Chosen, err = s.avoidWaking(v.Row, t)
	}
	v.Row, v.ID, v.Logit, v.N, v.Chosen = s.view.Row, s.view.ID, s.view.Logit, s.view.N, s.view.Chosen
	s.view = native.Candidates{}
	return asChainError(err)
}

// TakeRow implements chain.RowTaker.
func (s *Stage) TakeRow(row chain.WholeRow) bool {
	taken, err := s.sampler.TakeRow(row.Logits())
	return err == nil && taken // Apply will have the same error
}

// Accept implements chain.Stage.
func (s *Stage) Accept(t scheduler.Token) (chain.Effect, error) {
	if isRow(t) {
		return s.ended(), nil
	}
	var err error
	if s.lazy != nil || s.thinking != nil {
		err = s.follow(t)
	} else {
		err = s.accept(t)
	}
	if err != nil {
		return chain.Effect{}, asChainError(err)
	}
	return s.ended(), nil
}

// accept tells the samplers of a token, and the grammar unless it rests.
func (s *Stage) accept(t scheduler.Token) error {
	s.rules.wrote(1)
	if s.rules.guards() {
		if err := s.rules.accept([]scheduler.Token{t}, 0); err != nil {
			return err
		}
	}
	return s.sampler.Accept(t)
}

// rewind makes history the accepted tokens. The grammar does not see the prompt.
func (s *Stage) rewind(history []scheduler.Token, prompt int) error {
	s.rules.reset()
	s.undecided = false
	s.rules.wrote(len(history) - prompt)
	if s.rules.guards() {
		if err := s.rules.accept(history[prompt:], 0); err != nil {
			return err
		}
	}
	return s.sampler.Rewind(history, prompt)
}

// Reset implements chain.Stage.
func (s *Stage) Reset(history []scheduler.Token, prompt int) error {
	history, prompt = spoken(history, prompt)
	if s.lazy != nil || s.thinking != nil {
		return asChainError(s.replay(history, prompt))
	}
	return asChainError(s.rewind(history, prompt))
}

// Close implements chain.Stage.
func (s *Stage) Close() error {
	s.rules.release()
	return s.sampler.Close()
}

// A lazy grammar and the thinking of an answer are kept in step with its tokens. While the
// model thinks, a lazy grammar sleeps even where it was awake; when thinking ends, the grammar is
// told the end tag, which may be its trigger.

// sampleSoon is sample for the tick, which is not to wait. chain.ErrSlow says that the token takes
// long under the grammar: sample draws it from the same row, as it would have been drawn here.
func (s *Stage) sampleSoon(row []float32) (scheduler.Token, error) {
	if s.rules == nil {
		return s.sample(row)
	}
	s.rules.hurried = true
	defer func() { s.rules.hurried = false }()
	return s.sample(row)
}

// sample draws a token from a row, or takes the one that must come next.
func (s *Stage) sample(row []float32) (scheduler.Token, error) {
	if t, forced := s.forced(); forced && len(row) > 0 {
		return t, nil
	}
	t, err := s.drawFitting(row)
	return t, asChainError(err)
}

// forced is the token that must come next, because the budget for thinking is used up. One after
// which the answer cannot be complete must not.
func (s *Stage) forced() (scheduler.Token, bool) {
	forced := s.thinking.force()
	if len(forced) == 0 {
		return 0, false
	}
	if s.rules.guards() && s.rules.budget.limit > 0 {
		if fits, err := s.rules.allows(forced[0]); !fits && err == nil {
			return 0, false
		}
	}
	return forced[0], true
}

// follow accepts a token.
func (s *Stage) follow(t scheduler.Token) error {
	if err := s.accept(t); err != nil {
		return err
	}
	if s.lazy == nil {
		s.thinking.accept(t)
		return nil
	}
	resting := s.rests()
	for _, t := range heard(s.thinking, t) {
		begin, skip := []scheduler.Token{t}, 0
		if s.lazy.asleep {
			begin, skip = s.lazy.accept(t)
		} else if !resting {
			continue // accept has told it
		}
		if err := s.rules.accept(begin, skip); err != nil {
			return err
		}
	}
	s.rules.rests = s.rests()
	return nil
}

// rests reports whether a lazy grammar restricts nothing now.
func (s *Stage) rests() bool { return s.lazy.asleep || s.thinking.active() }

// heard has the thinking accept a token, and returns what a lazy grammar is told then: the token,
// unless it belongs to the thinking, or the end tag with which the thinking ended.
func heard(th *thinking, t scheduler.Token) []scheduler.Token {
	was := th.active()
	th.accept(t)
	switch {
	case !was:
		return []scheduler.Token{t}
	case th.active():
		return nil
	}
	return th.ended
}

// replay makes history the accepted tokens, where a lazy grammar or the thinking must see each of
// the answer.
func (s *Stage) replay(history []scheduler.Token, prompt int) error {
	s.thinking.reset()
	if s.lazy == nil {
		for _, t := range history[prompt:] {
			s.thinking.accept(t)
		}
		return s.rewind(history, prompt)
	}
	s.lazy.reset()
	s.rules.rests = true
	if err := s.rewind(history[:prompt], prompt); err != nil {
		return err
	}
	for _, t := range history[prompt:] {
		if err := s.follow(t); err != nil {
			return err
		}
	}
	return nil
}

// Fits implements chain.Guard. A picture or a sound fits nothing that a text must look like.
func (s *Stage) Fits(tokens []scheduler.Token) (int, error) {
	if at := slices.IndexFunc(tokens, isRow); at >= 0 {
		tokens = tokens[:at]
	}
	if s.lazy == nil {
		return s.rules.count(tokens, 0, nil)
	}
	thinking, asleep, known := s.thinking.clone(), s.lazy.asleep, len(s.lazy.seen)
	var seen []scheduler.Token // what the grammar would be told
	var from []int             // with so many of the tokens
	skip := 0
	for i, t := range tokens {
		for _, t := range heard(thinking, t) {
			if !s.lazy.asleep {
				seen = append(seen, t)
				continue
			}
			begin, n := s.lazy.accept(t)
			seen, skip = append(seen, begin...), n
		}
		for len(from) < len(seen) {
			from = append(from, i+1)
		}
	}
	if asleep {
		s.lazy.undo(known)
	}
	n, err := s.rules.count(seen, skip, from)
	if n < len(seen) {
		return from[n] - 1, err
	}
	return len(tokens), err
}

// unsatisfied is an error that the request itself has caused, as one that the scheduler knows.
type unsatisfied struct {
	error
	kind error // chain.ErrNoToken or chain.ErrNotAllowed
}

// Error tells the reason alone: it is a client's to read, and not about the server.
func (e unsatisfied) Error() string {
	if e.kind == chain.ErrNoToken { //nolint:errorlint // a field, never wrapped
		return e.kind.Error()
	}
	return e.error.Error()
}

func (e unsatisfied) Is(target error) bool { return target == e.kind }

func (e unsatisfied) Unwrap() error { return e.error }

// asChainError tells what the request asks for and cannot have from what failed: no token is left.
// The grammar's errors say so themselves.
func asChainError(err error) error {
	if errors.Is(err, native.ErrNoToken) {
		return unsatisfied{err, chain.ErrNoToken}
	}
	return err
}
