// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

var _ chain.Judge = (*Stage)(nil)

// Allows implements chain.Judge. The plugin is shown the token as the only candidate, with the
// logit 0: a token that comes without a draw has no other. To leave none is no fault here.
func (s *Stage) Allows(t scheduler.Token) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Sample) {
		return true, nil // its masks are asked for elsewhere, and after a fault the answer has ended
	}
	var ids []int32
	var logits []float32
	var n, ranked int
	switch s.plugin.Manifest.View {
	case load.ViewCandidates:
		ids, logits = s.instance.Buffers.Candidates()
		ids, logits, n, ranked = ids[:1], logits[:1], 1, 1
		ids[0], logits[0] = t, 0
	case load.ViewLogits:
		logits = s.row()
		for i := range logits {
			logits[i] = banned
		}
		logits[t], n = 0, len(logits)
	}
	v := chain.View{N: -1, Chosen: -1}
	left, err := s.sample(n, ranked, &v)
	switch {
	case err != nil:
		return false, err
	case left != edited && v.Chosen >= 0:
		return v.Chosen == t, nil
	case left != edited:
		for _, b := range v.Bias {
			if b.Token == t && b.Value == banned {
				return false, nil
			}
		}
		return true, nil // all candidates, which is one, or what a bias leaves
	case ids != nil:
		return ids[0] == t && logits[0] > banned, nil
	case logits != nil:
		return logits[t] > banned, nil
	}
	return true, nil
}
