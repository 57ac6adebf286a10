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
	_, err := s.sample(0, 0, v)
	return err
}

// TakeRow implements chain.RowTaker. The guest gets its row straight from the forward pass, and
// candidates are found there.
func (s *Stage) TakeRow(row chain.WholeRow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Sample) {
		return true
	}
	switch s.plugin.Manifest.View {
	case load.ViewCandidates:
		s.takeBest(row.Logits(), s.most())
	case load.ViewLogits:
		row.WriteTo(s.row())
	}
	return true
}

// What becomes of the view after sample; a positive number is that of the first candidates that
// stay.
const (
	asIs   = 0  // a token is chosen, or there was a fault that the request skips
	edited = -1 // it is to be read back
)

// sample calls the plugin with n and returns what becomes of the view. The plugin may keep the
// first of so many ranked candidates.
func (s *Stage) sample(n, ranked int, v *chain.View) (left int, _ error) {
	returned, err := s.instance.Call(guest.Sample, int32(n), 0)
	switch {
	case err != nil:
		return asIs, s.endOnFault(err)
	case returned == abi.SampleEdited:
		return edited, nil
	case returned >= 0 && int(returned) < s.vocabulary():
		v.Chosen = returned
		return asIs, nil
	case returned == abi.SampleBiased:
		return asIs, s.takeBias(v)
	case returned >= 0 || ranked == 0:
		return asIs, s.wrongReturn("%d, it must be −1 or a token below %d", returned, s.vocabulary())
	}
	if left = abi.SampleEdited - int(returned); left > ranked {
		return asIs, s.wrongReturn("%d keeps %d of %d candidates", returned, left, ranked)
	}
	return left, nil
}

// takeBias reads the bias buffer that sample has filled.
func (s *Stage) takeBias(v *chain.View) error {
	if !s.instance.Buffers.Bound(abi.BufferBias) {
		return s.wrongReturn("%d, but no bias buffer (kind %d) is bound", abi.SampleBiased, abi.BufferBias)
	}
	bias, violation := s.biases(s.instance.Buffers.Bias())
	if violation != nil {
		return s.endOnFault(s.instance.Fail(guest.Sample, violation))
	}
	v.Bias = bias
	return nil
}

func (s *Stage) vocabulary() int { return s.module.Env.Vocabulary.Size() }

// wrongReturn ends the use of the plugin after sample has returned a wrong value.
func (s *Stage) wrongReturn(format string, args ...any) error {
	return s.endOnFault(s.instance.Fail(guest.Sample, guest.Violationf(plugin.CauseAnswer, format, args...)))
}
