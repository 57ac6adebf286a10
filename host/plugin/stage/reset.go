// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

// Reset implements chain.Stage. The first call opens the plugin. Later ones call its rewind;
// without that, a plugin that was told something that does not stand any more is replaced by a
// fresh instance.
func (s *Stage) Reset(history []scheduler.Token, prompt int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disabled || s.closed {
		return nil
	}
	history = plugin.SeenTokens(history)
	s.drafted = s.drafted[:0]
	s.session.TakeNotes() // of a token that does not come
	s.spliced, s.prompt, s.session.Logprob, s.session.HiddenState = 0, prompt, float32(math.NaN()), nil
	s.session.Params[abi.ParamPromptTokens] = int64(prompt) // a program may have the answer go on from another
	switch {
	case s.plugin.Fault != nil:
		if w := s.session.Watcher; w != nil {
			w.Failed(s.plugin.Fault)
		}
		s.disabled = true
	case s.instance == nil:
		return s.endOnFault(s.open(history, s.request.Setup.Deadline(s.module.Env.Limits.SetupTime)))
	case s.has(guest.Rewind):
		s.session.History = append(s.session.History[:0], history...)
		returned, err := s.instance.Call(guest.Rewind, int32(len(history)), 0)
		if err == nil && returned != 0 {
			err = s.instance.Fail(guest.Rewind, guest.Violationf(plugin.CauseAnswer, "%d, it must be 0", returned))
		}
		return s.endOnFault(err)
	case s.has(guest.Accept) || s.rule.cut && s.has(guest.Stop) || s.filter.cut && s.has(guest.Filter):
		if err := s.closeInstance(true); err != nil {
			return err
		}
		s.session.Replaying = true
		defer func() { s.session.Replaying = false }()
		return s.endOnFault(s.open(history, time.Now().Add(s.module.Env.Limits.SetupTime)))
	default:
		s.session.History = append(s.session.History[:0], history...)
	}
	return nil
}
