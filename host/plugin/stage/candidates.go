// SPDX-License-Identifier: MIT

package stage

import (
	"bytes"
	"fmt"
	"math"

	"github.com/penstock/penstock/scheduler/chain"
)

var errNothingLeft = fmt.Errorf("%w: the stages before a plugin left none", chain.ErrNoToken)

// banned is the logit of a token that must not be chosen.
var banned = float32(math.Inf(-1))

// applyCandidates shows the plugin the best candidates. Those that it leaves replace all others.
func (s *Stage) applyCandidates(v *chain.View) error {
	ids, logits := s.instance.Buffers.Candidates()
	shown, shownLogits := s.rank(v, s.most())
	n := len(shown)
	if n == 0 {
		return errNothingLeft
	}
	ids, logits = ids[:n], logits[:n]
	copy(ids, shown)
	copy(logits, shownLogits)
	left, err := s.sample(n, n, v)
	switch left {
	case asIs:
		return err
	case edited:
		return s.takeEdited(v, shown, ids, logits)
	}
	v.ID, v.Logit, v.N = append(v.ID[:0], shown[:left]...), append(v.Logit[:0], shownLogits[:left]...), left
	return nil
}

// takeEdited makes what the guest left in its buffer the view. Most guests leave the ids as they
// were shown, and those are tokens.
func (s *Stage) takeEdited(v *chain.View, shown, ids []int32, logits []float32) error {
	s.makeScratch()
	problem, at := "", 0
	if !bytes.Equal(bytesOf(ids), bytesOf(shown)) {
		problem, at = s.checkIDs(ids)
	}
	kept := 0
	if problem == "" {
		if kept, at = compact(s.ids, s.logits, ids, logits); at >= 0 {
			problem = "neither finite nor −inf"
		}
	}
	switch {
	case problem != "":
		return s.wrongReturn("candidate %d of %d, token %d with logit %v: %s", at, len(ids), uint32(ids[at]), logits[at], problem)
	case kept == 0:
		return s.wrongReturn("no candidate is left above −inf")
	}
	v.ID, v.Logit, v.N = append(v.ID[:0], s.ids[:kept]...), append(v.Logit[:0], s.logits[:kept]...), kept
	return nil
}

// rank returns at most k candidates, best first. The guest may not change them: they are the
// view's own, or lie in s.
func (s *Stage) rank(v *chain.View, k int) (ids []int32, logits []float32) {
	if v.N >= 0 && v.N <= k && sorted(v.Logit[:v.N]) {
		return v.ID[:v.N], v.Logit[:v.N]
	}
	if v.N < 0 {
		if v.Row != nil {
			s.takeBest(v.Row, k)
		}
		return s.ids[:s.taken], s.logits[:s.taken]
	}
	s.makeScratch()
	ids, logits = s.ids, s.logits
	s.selector.gather(v.Logit[:v.N], k)
	n := len(s.selector.keys)
	for i, key := range s.selector.keys {
		index := ^uint32(key)
		ids[i], logits[i] = v.ID[index], v.Logit[index]
	}
	return ids[:n], logits[:n]
}

// takeBest finds the k best of a row, and keeps them in s.
func (s *Stage) takeBest(row []float32, k int) {
	s.makeScratch()
	find := s.module.Env.TopK
	if find == nil {
		find = s.selector.topK
	}
	s.taken = find(row, k, s.ids, s.logits)
}

// most is how many candidates the guest may be shown.
func (s *Stage) most() int {
	ids, _ := s.instance.Buffers.Candidates()
	return min(s.plugin.Manifest.Candidates, len(ids))
}

// makeScratch makes what the first call needs.
func (s *Stage) makeScratch() {
	if s.seen == nil {
		s.seen = make([]uint64, s.vocabulary()/64+1)
		s.ids, s.logits = make([]int32, s.plugin.Manifest.Candidates), make([]float32, s.plugin.Manifest.Candidates)
	}
}

// sorted reports whether logits are in falling order and all above −inf. Eight pairs share a
// branch: this runs for every token.
func sorted(logits []float32) bool {
	rest := logits
	for len(rest) > 8 {
		l := (*[9]float32)(rest)
		if !(l[0] >= l[1] && l[1] >= l[2] && l[2] >= l[3] && l[3] >= l[4] && l[4] >= l[5] && l[5] >= l[6] && l[6] >= l[7] && l[7] >= l[8]) {
			return false
		}
		rest = rest[8:]
	}
	for i := 1; i < len(rest); i++ {
		if !(rest[i] <= rest[i-1]) {
			return false
		}
	}
	return len(rest) > 0 && rest[len(rest)-1] > banned
}
