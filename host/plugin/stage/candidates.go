// SPDX-License-Identifier: MIT

package stage

import (
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
	n := s.writeCandidates(v, min(s.plugin.Manifest.Candidates, len(ids)), ids, logits)
	if n == 0 {
		return errNothingLeft
	}
	edited, err := s.sample(n, v)
	if err != nil || !edited {
		return err
	}
	kept, problem, at := s.readCandidates(ids[:n], logits[:n])
	switch {
	case problem != "":
		return s.wrongReturn("candidate %d of %d, token %d with logit %v: %s", at, n, uint32(ids[at]), logits[at], problem)
	case kept == 0:
		return s.wrongReturn("no candidate is left above −inf")
	}
	v.ID, v.Logit, v.N = append(v.ID[:0], s.ids[:kept]...), append(v.Logit[:0], s.logits[:kept]...), kept
	return nil
}

// writeCandidates writes at most k candidates into the guest's buffer, best first, and returns how many.
func (s *Stage) writeCandidates(v *chain.View, k int, ids []int32, logits []float32) int {
	if v.N < 0 {
		if find := s.module.Host.TopK; find != nil {
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

// sorted reports whether logits are in falling order and all above −inf.
func sorted(logits []float32) bool {
	for i := 1; i < len(logits); i++ {
		if !(logits[i] <= logits[i-1]) {
			return false
		}
	}
	return len(logits) > 0 && logits[len(logits)-1] > banned
}

// readCandidates copies the candidates above −inf to s.ids and s.logits and returns how many there are. If one is invalid, problem
// says why, and at is its index.
func (s *Stage) readCandidates(ids []int32, logits []float32) (kept int, problem string, at int) {
	size := uint32(s.vocabulary())
	if s.seen == nil {
		s.seen = make([]uint64, size/64+1)
		s.ids, s.logits = make([]int32, s.plugin.Manifest.Candidates), make([]float32, s.plugin.Manifest.Candidates)
	}
	seen, keptIDs, keptLogits := s.seen, s.ids[:len(ids)], s.logits[:len(ids)]
	n := 0
	for ; n < len(ids); n++ {
		id, x := uint32(ids[n]), logits[n]
		if id >= size {
			problem = "not in the vocabulary"
			break
		}
		if !(x <= math.MaxFloat32) {
			problem = "neither finite nor −inf"
			break
		}
		word, bit := &seen[id/64], uint64(1)<<(id%64)
		if *word&bit != 0 {
			problem = "twice"
			break
		}
		*word |= bit
		keptIDs[kept], keptLogits[kept] = int32(id), x
		if x > banned {
			kept++
		}
	}
	for _, id := range ids[:n] { // those whose bit was set
		seen[uint32(id)/64] = 0
	}
	return kept, problem, n
}
