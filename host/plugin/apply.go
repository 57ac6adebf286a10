// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"math"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

var errNothingLeft = errors.New("the stages before a plugin left no candidate")

// Apply implements scheduler.Stage: it shows the plugin its view, and takes back what it made of it.
func (s *Stage) Apply(v *scheduler.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle(hookSample) {
		return nil
	}
	switch s.module.Manifest.View {
	case ViewCandidates:
		return s.applyCandidates(v)
	case ViewLogits:
		return s.applyLogits(v)
	}
	_, err := s.sample(0, v)
	return err
}

// sample calls the plugin. edited tells that the view is to be read back.
func (s *Stage) sample(n int, v *scheduler.View) (edited bool, _ error) {
	answer, err := s.instance.call(hookSample, int32(n), 0)
	switch {
	case err != nil:
		return false, s.settle(err)
	case answer == abi.SampleEdited:
		return true, nil
	case answer >= 0 && int(answer) < s.vocabulary():
		v.Chosen = answer
		return false, nil
	}
	return false, s.wrongAnswer("%d, it must be −1 or a token below %d", answer, s.vocabulary())
}

func (s *Stage) vocabulary() int { return s.module.runtime.vocabulary.Size() }

// wrongAnswer is a fault of sample.
func (s *Stage) wrongAnswer(format string, args ...any) error {
	return s.settle(s.instance.fault(hookSample, wrong(CauseAnswer, format, args...)))
}

// applyCandidates hands over the best candidates; what comes back replaces all others.
func (s *Stage) applyCandidates(v *scheduler.View) error {
	ids, logits := s.instance.buffers.candidates()
	n := s.fill(v, min(s.module.Manifest.Candidates, len(ids)), ids, logits)
	if n == 0 {
		return errNothingLeft
	}
	edited, err := s.sample(n, v)
	if err != nil || !edited {
		return err
	}
	ids, logits = ids[:n], logits[:n]
	if problem, at := s.check(ids, logits); problem != "" {
		return s.wrongAnswer("candidate %d of %d, token %d with logit %v: %s", at, n, uint32(ids[at]), logits[at], problem)
	}
	if !anyAbove(logits) {
		return s.wrongAnswer("no candidate is left above −inf")
	}
	v.ID, v.Logit = v.ID[:0], v.Logit[:0]
	for i, x := range logits {
		if x != banned {
			v.ID, v.Logit = append(v.ID, ids[i]), append(v.Logit, x)
		}
	}
	v.N = len(v.ID)
	return nil
}

var banned = float32(math.Inf(-1))

// fill writes at most k candidates into the guest's buffer, best first, and returns how many.
func (s *Stage) fill(v *scheduler.View, k int, ids []int32, logits []float32) int {
	if v.N < 0 {
		if find := s.module.runtime.topK; find != nil {
			return find(v.Row, k, ids, logits)
		}
		return s.selector.topK(v.Row, k, ids, logits)
	}
	if v.N <= k && sorted(v.Logit[:v.N]) {
		copy(ids, v.ID[:v.N])
		copy(logits, v.Logit[:v.N])
		return v.N
	}
	s.selector.gather(v.Logit[:v.N], k)
	for i, key := range s.selector.keys {
		index := ^uint32(key)
		ids[i], logits[i] = v.ID[index], v.Logit[index]
	}
	return len(s.selector.keys)
}

// sorted tells whether logits fall, and end above −inf.
func sorted(logits []float32) bool {
	for i := 1; i < len(logits); i++ {
		if !(logits[i] <= logits[i-1]) {
			return false
		}
	}
	return len(logits) > 0 && logits[len(logits)-1] > banned
}

// check looks for what a candidates view may not have; problem is empty where all is well.
func (s *Stage) check(ids []int32, logits []float32) (problem string, at int) {
	if s.seen == nil {
		s.seen = make([]uint64, (s.vocabulary()+63)/64)
	}
	size := s.vocabulary()
	n := 0
	for ; n < len(ids) && problem == ""; n++ {
		id := ids[n]
		switch {
		case uint(id) >= uint(size):
			problem = "not in the vocabulary"
		case s.seen[id/64]&(1<<(id%64)) != 0:
			problem = "twice"
		case !(logits[n] <= math.MaxFloat32):
			problem = "neither finite nor −inf"
		default:
			s.seen[id/64] |= 1 << (id % 64)
		}
	}
	for _, id := range ids[:n] {
		if uint(id) < uint(size) {
			s.seen[id/64] = 0
		}
	}
	return problem, n - 1
}
