// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

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
