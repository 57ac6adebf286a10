// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// Apply implements chain.Stage: it shows the plugin its view, and takes back what it made of it.
func (s *Stage) Apply(v *chain.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Sample) {
		return nil
	}
	switch s.plugin.Manifest.View {
	case load.ViewCandidates:
		return s.applyCandidates(v)
	case load.ViewLogits:
		return s.applyLogits(v)
	}
	_, err := s.sample(0, v)
	return err
}

// sample calls the plugin. edited tells that the view is to be read back.
func (s *Stage) sample(n int, v *chain.View) (edited bool, _ error) {
	answer, err := s.instance.Call(guest.Sample, int32(n), 0)
	switch {
	case err != nil:
		return false, s.endOnFault(err)
	case answer == abi.SampleEdited:
		return true, nil
	case answer >= 0 && int(answer) < s.vocabulary():
		v.Chosen = answer
		return false, nil
	}
	return false, s.wrongAnswer("%d, it must be −1 or a token below %d", answer, s.vocabulary())
}

func (s *Stage) vocabulary() int { return s.module.Host.Vocabulary.Size() }

// wrongAnswer is a fault of sample.
func (s *Stage) wrongAnswer(format string, args ...any) error {
	return s.endOnFault(s.instance.Fail(guest.Sample, guest.Violationf(plugin.CauseAnswer, format, args...)))
}
