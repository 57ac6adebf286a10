// SPDX-License-Identifier: MIT

package plugin

import (
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Accept implements chain.Stage.
func (s *Stage) Accept(t scheduler.Token) (chain.Effect, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.history = append(s.session.history, t)
	if s.idle(hookAccept) {
		return chain.Effect{}, nil
	}
	forced := s.forced > 0
	s.forced = max(0, s.forced-1)
	answer, err := s.instance.call(hookAccept, t, 0)
	if err != nil {
		return chain.Effect{}, s.settle(err)
	}
	switch answer {
	case abi.AcceptContinue:
		return chain.Effect{}, nil
	case abi.AcceptStop:
		return chain.Effect{Stop: true}, nil
	case abi.AcceptSplice:
		if forced {
			return s.refuseSplice(wrong(CauseAnswer, "a splice in answer to a token that was spliced itself"))
		}
		return s.takeBack()
	}
	return s.refuseSplice(wrong(CauseAnswer, "%d, it must be 0, 1 or 2", answer))
}

func (s *Stage) refuseSplice(v *violation) (chain.Effect, error) {
	return chain.Effect{}, s.settle(s.instance.fault(hookAccept, v))
}

// takeBack reads the splice that accept wrote.
func (s *Stage) takeBack() (chain.Effect, error) {
	if !s.instance.buffers[abi.BufferSplice].bound() {
		return s.refuseSplice(wrong(CauseAnswer, "a splice, but no splice buffer is bound"))
	}
	backtrack, tokens, v := s.splice()
	if v != nil {
		return s.refuseSplice(v)
	}
	generated := len(s.session.history) - s.prompt
	if limit := min(s.module.Manifest.Hold, generated); backtrack > uint32(limit) {
		return s.refuseSplice(wrong(CauseAnswer, "%d tokens are taken back; hold is %d and %d were generated",
			backtrack, s.module.Manifest.Hold, generated))
	}
	s.session.history = s.session.history[:len(s.session.history)-int(backtrack)]
	s.forced = len(tokens)
	return chain.Effect{Splice: true, Backtrack: int(backtrack), Tokens: tokens}, nil
}

// splice reads the bound splice buffer.
func (s *Stage) splice() (backtrack uint32, tokens []scheduler.Token, _ *violation) {
	b := slice[uint32](s.instance.buffers[abi.BufferSplice].bytes)
	backtrack, n := b[0], b[1]
	if room := len(b) - 2; uint64(n) > uint64(room) {
		return 0, nil, wrong(CauseAnswer, "%d tokens in a splice buffer for %d", n, room)
	}
	s.tokens = s.tokens[:0]
	for _, t := range b[2 : 2+n] {
		if uint64(t) >= uint64(s.vocabulary()) {
			return 0, nil, wrong(CauseAnswer, "token %d in the splice buffer; there are %d", t, s.vocabulary())
		}
		s.tokens = append(s.tokens, int32(t))
	}
	return backtrack, s.tokens, nil
}
