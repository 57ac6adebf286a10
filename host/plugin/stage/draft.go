// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// This file has a plugin guess the next tokens. It is asked on the background sampler, right after
// it was told of a token, since the tick, which wants the guess, does not wait.

var _ chain.Foreseer = (*Stage)(nil)

// Foresee implements chain.Foreseer: what the plugin has guessed after the last token.
func (s *Stage) Foresee(most int) []scheduler.Token {
	if !s.mu.TryLock() {
		return nil // it is being asked
	}
	defer s.mu.Unlock()
	return s.drafted[:min(len(s.drafted), most)]
}

// drafts reports whether the plugin guesses tokens.
func (s *Stage) drafts() bool { return s.module.Has(guest.Draft) }

// draft asks the plugin for a guess. The error is that of endOnFault.
func (s *Stage) draft() error {
	s.drafted = s.drafted[:0]
	if !s.canCall(guest.Draft) {
		return nil
	}
	buffer := s.instance.Buffers.Bound(abi.BufferSplice)
	most := 0
	if buffer {
		most = min(abi.LimitDraft, len(s.instance.Buffers.Splice())-2)
	}
	returned, err := s.instance.Call(guest.Draft, int32(most), 0)
	if err != nil {
		return s.endOnFault(err)
	}
	if returned < 0 || int(returned) > most {
		return s.draftFault("%d tokens are guessed; from 0 to %d may be", returned, most)
	}
	if returned == 0 {
		return nil
	}
	for _, t := range s.instance.Buffers.Splice()[2 : 2+returned] {
		if uint64(t) >= uint64(s.vocabulary()) {
			return s.draftFault("token %d is guessed; there are %d", t, s.vocabulary())
		}
		s.drafted = append(s.drafted, int32(t))
	}
	return nil
}

func (s *Stage) draftFault(format string, args ...any) error {
	s.drafted = s.drafted[:0]
	return s.endOnFault(s.instance.Fail(guest.Draft, guest.Violationf(plugin.CauseAnswer, format, args...)))
}
