// SPDX-License-Identifier: MIT

package stage

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Apply implements chain.Stage: it shows the plugin its view of the row, and reads the result.
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

// TakeRow implements chain.RowTaker: what Apply will show the plugin is read from the row in the
// memory of the forward pass. See the package comment.
func (s *Stage) TakeRow(row chain.WholeRow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Sample) {
		return true
	}
	switch s.plugin.Manifest.View {
	case load.ViewCandidates:
		s.findBest(row.Logits(), s.mostCandidates())
	case load.ViewLogits:
		row.WriteTo(s.boundRow())
	}
	return true
}

// What sample returns. A positive number says how many candidates stay, from the best on.
const (
	asIs   = 0  // the view stays: the plugin chose a token or gave biases, or is skipped after a fault
	edited = -1 // the guest's buffer has the new view
)

// sample calls penstock_sample; n is the number of candidates or logits that the guest's buffer
// has. The plugin may answer with a number of candidates to keep if ranked, the number of those
// that are sorted, is not 0.
func (s *Stage) sample(n, ranked int, v *chain.View) (left int, _ error) {
	returned, err := s.instance.Call(guest.Sample, int32(n), 0)
	switch {
	case err != nil:
		return asIs, s.endOnFault(err)
	case returned == abi.SampleEdited:
		return edited, nil
	case returned >= 0 && int(returned) < s.vocabularySize():
		v.Chosen = returned
		return asIs, nil
	case returned == abi.SampleBiased:
		return asIs, s.readSampleBias(v)
	case returned >= 0 || ranked == 0:
		return asIs, s.failSample("%d, it must be −1 or a token below %d", returned, s.vocabularySize())
	}
	if left = abi.SampleEdited - int(returned); left > ranked {
		return asIs, s.failSample("%d keeps %d of %d candidates", returned, left, ranked)
	}
	return left, nil
}

// readSampleBias reads the bias buffer that sample filled.
func (s *Stage) readSampleBias(v *chain.View) error {
	if !s.instance.Buffers.Bound(abi.BufferBias) {
		return s.failSample("%d, but no bias buffer (kind %d) is bound", abi.SampleBiased, abi.BufferBias)
	}
	bias, violation := s.readBiases(s.instance.Buffers.Bias())
	if violation != nil {
		return s.endOnFault(s.instance.Fail(guest.Sample, violation))
	}
	v.Bias = bias
	return nil
}

func (s *Stage) vocabularySize() int { return s.module.Env.Vocabulary.Size() }

// failSample makes a fault of a wrong answer of sample.
func (s *Stage) failSample(format string, args ...any) error {
	return s.endOnFault(s.instance.Fail(guest.Sample, guest.Violationf(plugin.CauseAnswer, format, args...)))
}

var errNothingLeft = fmt.Errorf("%w: the stages before a plugin left none", chain.ErrNoToken)

// banned is the logit of a token that must not be drawn.
var banned = float32(math.Inf(-1))

// applyCandidates shows the plugin the best candidates. Those that it leaves become the view.
func (s *Stage) applyCandidates(v *chain.View) error {
	ids, logits := s.instance.Buffers.Candidates()
	shown, shownLogits := s.rankCandidates(v, s.mostCandidates())
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
		return s.readEdited(v, shown, ids, logits)
	}
	v.ID, v.Logit, v.N = append(v.ID[:0], shown[:left]...), append(v.Logit[:0], shownLogits[:left]...), left
	return nil
}

// readEdited checks the candidates in the guest's buffer and makes them the view. Most guests leave
// the ids as they were shown; then the ids need no check.
func (s *Stage) readEdited(v *chain.View, shown, ids []int32, logits []float32) error {
	s.makeScratch()
	problem, at := "", 0
	if !bytes.Equal(asBytes(ids), asBytes(shown)) {
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
		return s.failSample("candidate %d of %d, token %d with logit %v: %s", at, len(ids), uint32(ids[at]), logits[at], problem)
	case kept == 0:
		return s.failSample("no candidate is left above −inf")
	}
	v.ID, v.Logit, v.N = append(v.ID[:0], s.ids[:kept]...), append(v.Logit[:0], s.logits[:kept]...), kept
	return nil
}

// rankCandidates returns the best k candidates, or all if there are fewer, best first. They belong
// to the view or to s, so the guest gets a copy.
func (s *Stage) rankCandidates(v *chain.View, k int) (ids []int32, logits []float32) {
	if v.N >= 0 && v.N <= k && sorted(v.Logit[:v.N]) {
		return v.ID[:v.N], v.Logit[:v.N]
	}
	if v.N < 0 {
		if v.Row != nil {
			s.findBest(v.Row, k)
		}
		return s.ids[:s.found], s.logits[:s.found]
	}
	s.makeScratch()
	ids, logits = s.ids, s.logits
	s.selector.gatherLargest(v.Logit[:v.N], k)
	n := len(s.selector.keys)
	for i, key := range s.selector.keys {
		index := ^uint32(key)
		ids[i], logits[i] = v.ID[index], v.Logit[index]
	}
	return ids[:n], logits[:n]
}

// findBest finds the k best candidates of a row, and keeps them in s.
func (s *Stage) findBest(row []float32, k int) {
	s.makeScratch()
	find := s.module.Env.TopK
	if find == nil {
		find = s.selector.topK
	}
	s.found = find(row, k, s.ids, s.logits)
}

// mostCandidates is how many candidates the guest may be shown.
func (s *Stage) mostCandidates() int {
	ids, _ := s.instance.Buffers.Candidates()
	return min(s.plugin.Manifest.Candidates, len(ids))
}

// makeScratch allocates the scratch buffers with the first call.
func (s *Stage) makeScratch() {
	if s.seen == nil {
		s.seen = make([]uint64, s.vocabularySize()/64+1)
		s.ids, s.logits = make([]int32, s.plugin.Manifest.Candidates), make([]float32, s.plugin.Manifest.Candidates)
	}
}

// sorted reports whether logits are in descending order and all above −inf. It runs for every
// token, so eight comparisons share a branch.
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

// checkIDs finds the first id that is not in the vocabulary or that appears twice. problem is empty
// if there is none.
func (s *Stage) checkIDs(ids []int32) (problem string, at int) {
	size, n := uint32(s.vocabularySize()), 0
	for ; n < len(ids); n++ {
		id := uint32(ids[n])
		if id >= size {
			problem = "not in the vocabulary"
			break
		}
		word, bit := &s.seen[id/64], uint64(1)<<(id%64)
		if *word&bit != 0 {
			problem = "twice"
			break
		}
		*word |= bit
	}
	for _, id := range ids[:n] { // clear what was set
		s.seen[uint32(id)/64] = 0
	}
	return problem, n
}

// compact copies the candidates whose logits are above −inf. It returns how many there are, and the
// index of the first logit that is NaN or +inf, or −1. It looks at blocks first, since most are
// wholly finite or wholly −inf.
func compact(toIDs []int32, toLogits []float32, ids []int32, logits []float32) (kept, invalid int) {
	for from := 0; from < len(ids); from += blockSize {
		to := min(from+blockSize, len(ids))
		part := logits[from:to]
		if to-from == blockSize {
			switch block := pairsOf(part); {
			case !hasNonFinite(block):
				copy(toIDs[kept:], ids[from:to])
				copy(toLogits[kept:], part)
				kept += blockSize
				continue
			case *block == bannedPairs:
				continue
			}
		}
		for i, x := range part {
			if !isLogit(x) {
				return 0, from + i
			}
			toIDs[kept], toLogits[kept] = ids[from+i], x
			if x > banned {
				kept++
			}
		}
	}
	return kept, -1
}

// asBytes views ids as bytes: bytes.Equal is faster than slices.Equal.
func asBytes(ids []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ids))), 4*len(ids))
}

// applyLogits shows the plugin the whole row. The guest's buffer then becomes the view without a
// copy, since this instance is not called again before the chain has chosen a token.
func (s *Stage) applyLogits(v *chain.View) error {
	row := s.boundRow()
	switch {
	case v.N < 0 && v.Row == nil: // TakeRow has filled the buffer
	case v.N < 0:
		copy(row, v.Row)
	default:
		for i := range row {
			row[i] = banned
		}
		for i, id := range v.ID[:v.N] {
			row[id] = v.Logit[i]
		}
	}
	if left, err := s.sample(len(row), 0, v); left == asIs {
		return err
	}
	find := s.module.Env.FirstInvalid
	if find == nil {
		find = firstInvalid
	}
	if at := find(row); at >= 0 {
		return s.failSample("logit %v of token %d: neither finite nor −inf", row[at], at)
	}
	if !anyAllowed(row) {
		return s.failSample("no logit is left above −inf")
	}
	v.Row, v.N = row, -1
	return nil
}

// boundRow returns the guest's buffer for a whole row of logits.
func (s *Stage) boundRow() []float32 { return s.instance.Buffers.Logits()[:s.vocabularySize()] }

// anyAllowed reports whether a logit is above −inf.
func anyAllowed(row []float32) bool {
	for _, x := range row {
		if x > banned {
			return true
		}
	}
	return false
}

var _ chain.Judge = (*Stage)(nil)

// Allows implements chain.Judge: whether the plugin would let a token through that no sampler drew.
// The plugin is shown it as the only candidate, with the logit 0. That it leaves no candidate is an
// answer here and not a fault.
func (s *Stage) Allows(t scheduler.Token) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Sample) {
		return true, nil // only its mask counts, which Prepare gave; after a fault the answer has ended
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
		logits = s.boundRow()
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
		return true, nil // the plugin kept the only candidate, or no bias bans it
	case ids != nil:
		return ids[0] == t && logits[0] > banned, nil
	case logits != nil:
		return logits[t] > banned, nil
	}
	return true, nil
}
