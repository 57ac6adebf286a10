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
func (s *Stage) Fits(tokens []scheduler.Token) (int, error) { return s.sampler.CountAllowed(tokens) }

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
