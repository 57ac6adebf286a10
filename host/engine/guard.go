// SPDX-License-Identifier: MIT

package engine

import (
	"errors"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

var _ chain.Guard = (*Stage)(nil)

// Guards implements chain.Guard.
func (s *Stage) Guards() bool { return s.hasGrammar }

// Fits implements chain.Guard.
func (s *Stage) Fits(tokens []scheduler.Token) (int, error) {
	if s.lazy == nil {
		return s.sampler.CountAllowed(tokens, 0)
	}
	thinking, asleep, known := s.thinking.clone(), s.lazy.asleep, len(s.lazy.seen)
	var seen []scheduler.Token // what the grammar would be told
	var from []int             // by which of the tokens
	skip := 0
	for i, t := range tokens {
		for _, t := range told(thinking, t) {
			if !s.lazy.asleep {
				seen = append(seen, t)
				continue
			}
			begin, n := s.lazy.accept(t)
			seen, skip = append(seen, begin...), n
		}
		for len(from) < len(seen) {
			from = append(from, i)
		}
	}
	if asleep {
		s.lazy.undo(known)
	}
	n, err := s.sampler.CountAllowed(seen, skip)
	if n < len(seen) {
		return from[n], err
	}
	return len(tokens), err
}

// noToken is native.ErrNoToken, and chain.ErrNoToken too, which is what the scheduler knows.
type noToken struct{ error }

func (noToken) Is(target error) bool { return target == chain.ErrNoToken }

func (e noToken) Unwrap() error { return e.error }

func asChainError(err error) error {
	if errors.Is(err, native.ErrNoToken) {
		return noToken{err}
	}
	return err
}
