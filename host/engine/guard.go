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
func (s *Stage) Guards() bool { return s.guards }

// Fits implements chain.Guard.
func (s *Stage) Fits(tokens []scheduler.Token) (int, error) { return s.sampler.CountAllowed(tokens) }

// starved is the native error that there is no token to choose from, in the scheduler's terms besides.
type starved struct{ error }

func (starved) Is(target error) bool { return target == chain.ErrNoToken }

func (e starved) Unwrap() error { return e.error }

func inSchedulerTerms(err error) error {
	if errors.Is(err, native.ErrNoToken) {
		return starved{err}
	}
	return err
}
