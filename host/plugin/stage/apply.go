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
	returned, err := s.instance.Call(guest.Sample, int32(n), 0)
	switch {
	case err != nil:
		return false, s.endOnFault(err)
	case returned == abi.SampleEdited:
		return true, nil
	case returned >= 0 && int(returned) < s.vocabulary():
		v.Chosen = returned
		return false, nil
	}
	return false, s.wrongReturn("%d, it must be −1 or a token below %d", returned, s.vocabulary())
}

func (s *Stage) vocabulary() int { return s.module.Host.Vocabulary.Size() }

// wrongReturn ends the use of the plugin after sample has returned a wrong value.
func (s *Stage) wrongReturn(format string, args ...any) error {
	return s.endOnFault(s.instance.Fail(guest.Sample, guest.Violationf(plugin.CauseAnswer, format, args...)))
}
