// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Accept implements chain.Stage.
func (s *Stage) Accept(t scheduler.Token) (chain.Effect, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.History = append(s.session.History, t)
	s.session.Accepting()
	effect, err := s.accept(t)
	if err == nil && !effect.Stop && !effect.Splice {
		err = s.draft()
	}
	return effect, err
}

// accept tells the plugin of a token.
func (s *Stage) accept(t scheduler.Token) (chain.Effect, error) {
	s.drafted = s.drafted[:0]
	if !s.canCall(guest.Accept) {
		return chain.Effect{}, nil
	}
	spliced := s.spliced > 0
	s.spliced = max(0, s.spliced-1)
	returned, err := s.instance.Call(guest.Accept, t, 0)
	if err != nil {
		return chain.Effect{}, s.endOnFault(err)
	}
	switch returned {
	case abi.AcceptContinue:
		return chain.Effect{}, nil
	case abi.AcceptStop:
		return chain.Effect{Stop: true}, nil
	case abi.AcceptSplice:
		if spliced {
			return s.acceptFault(guest.Violationf(plugin.CauseAnswer, "a splice in answer to a token that was spliced itself"))
		}
		return s.readEdit()
	}
	return s.acceptFault(guest.Violationf(plugin.CauseAnswer, "%d, it must be 0, 1 or 2", returned))
}

// acceptFault ends the use of the plugin after accept has returned a wrong value.
func (s *Stage) acceptFault(v *guest.Violation) (chain.Effect, error) {
	return chain.Effect{}, s.endOnFault(s.instance.Fail(guest.Accept, v))
}

// readEdit reads the splice that accept wrote.
func (s *Stage) readEdit() (chain.Effect, error) {
	if !s.instance.Buffers.Bound(abi.BufferSplice) {
		return s.acceptFault(guest.Violationf(plugin.CauseAnswer, "a splice, but no splice buffer is bound"))
	}
	backtrack, tokens, v := s.readSplice()
	if v != nil {
		return s.acceptFault(v)
	}
	generated := len(s.session.History) - s.prompt
	if limit := min(s.instance.Hold(), generated); backtrack > uint32(limit) {
		return s.acceptFault(guest.Violationf(plugin.CauseAnswer, "%d tokens are taken back; hold is %d and %d were generated",
			backtrack, s.instance.Hold(), generated))
	}
	s.session.History = s.session.History[:len(s.session.History)-int(backtrack)]
	s.spliced = len(tokens)
	return chain.Effect{Splice: true, Backtrack: int32(backtrack), Tokens: tokens}, nil
}

// readSplice reads the bound splice buffer.
func (s *Stage) readSplice() (backtrack uint32, tokens []scheduler.Token, _ *guest.Violation) {
	b := s.instance.Buffers.Splice()
	backtrack, n := b[0], b[1]
	if room := len(b) - 2; uint64(n) > uint64(room) {
		return 0, nil, guest.Violationf(plugin.CauseAnswer, "%d tokens in a splice buffer for %d", n, room)
	}
	s.tokens = s.tokens[:0]
	for _, t := range b[2 : 2+n] {
		if uint64(t) >= uint64(s.vocabulary()) {
			return 0, nil, guest.Violationf(plugin.CauseAnswer, "token %d in the splice buffer; there are %d", t, s.vocabulary())
		}
		s.tokens = append(s.tokens, int32(t))
	}
	return backtrack, s.tokens, nil
}
