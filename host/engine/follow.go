// SPDX-License-Identifier: MIT

package engine

import (
	"github.com/penstock/penstock/scheduler"
)

// This file keeps a lazy grammar and the thinking of an answer in step with its tokens. While the
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
