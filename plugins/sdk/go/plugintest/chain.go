// SPDX-License-Identifier: MIT

package plugintest

import (
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/prepare"
	"github.com/penstock/penstock/plugins/sdk/go/sampler"
)

// numbers reads bytes of a buffer, aligned to 4.
func numbers[T int32 | uint32 | float32](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Sample shows the plugin candidates, best first, or the whole row where ids is nil. It returns the token the plugin chose, or
// sampler.Edited, and writes back what became of ids and logits. Candidates with a logit of −Inf come last, and are not shown.
func (s *Session) Sample(ids []penstock.Token, logits []float32) penstock.Token {
	s.t.Helper()
	n := len(logits)
	toIDs, toLogits := []penstock.Token(nil), numbers[float32](s.buffers[abi.BufferLogits])
	if ids != nil {
		for n > 0 && math.IsInf(float64(logits[n-1]), -1) {
			n--
		}
		view := s.buffers[abi.BufferCandidates]
		half := len(view) / 8 * 4
		toIDs, toLogits = numbers[penstock.Token](view[:half]), numbers[float32](view[half:2*half])
		s.check("shown", ids[:n], logits[:n])
	}
	if n > len(toLogits) {
		s.t.Fatalf("%d candidates for a view of %d", n, len(toLogits))
	}
	before := call{Export: "penstock_sample", IDs: slices.Clone(ids), Logits: slices.Clone(logits)}
	copy(toIDs, ids[:min(n, len(ids))])
	copy(toLogits, logits[:n])
	chosen := s.call(with(guest.Sample, int32(n)))
	copy(ids, toIDs[:min(n, len(ids))])
	copy(logits, toLogits[:n])
	if chosen != sampler.Edited && !(host{s}).known(chosen) {
		s.t.Fatalf("sample answered %d; there are %d tokens", chosen, len(s.Pieces))
	}
	if ids != nil {
		s.check("left", ids[:n], logits[:n])
	}
	before.Answer, before.LeftIDs, before.LeftLogits = chosen, slices.Clone(ids), slices.Clone(logits)
	s.note(before)
	return chosen
}

// check ends the test where candidates are not what the host would show or take.
func (s *Session) check(what string, ids []penstock.Token, logits []float32) {
	s.t.Helper()
	seen := make(map[penstock.Token]bool, len(ids))
	left := false
	for i, t := range ids {
		if !(host{s}).known(t) || seen[t] {
			s.t.Fatalf("candidate %d that is %s is token %d: twice, or not one of %d", i, what, t, len(s.Pieces))
		}
		seen[t] = true
		if x := logits[i]; !(x <= math.MaxFloat32) {
			s.t.Fatalf("candidate %d that is %s has the logit %v", i, what, x)
		}
		left = left || logits[i] >= -math.MaxFloat32
	}
	if !left {
		s.t.Fatalf("no candidate that is %s is above −Inf", what)
	}
}

// Prepared is what the plugin filled for the next token.
type Prepared struct {
	Filled prepare.Filled
	Mask   []uint32 // nil: none
	Bias   map[penstock.Token]float32
	Forced penstock.Token
}

// Prepare lets the plugin look ahead.
func (s *Session) Prepare() Prepared {
	s.t.Helper()
	p := Prepared{Filled: prepare.Filled(s.call(guest.Prepare)), Forced: penstock.NoToken}
	if p.Filled&^(prepare.Mask|prepare.Bias|prepare.Force) != 0 {
		s.t.Fatalf("prepare answered %#x, which has bits that mean nothing", int32(p.Filled))
	}
	if p.Filled&prepare.Mask != 0 {
		p.Mask = numbers[uint32](s.bound(abi.BufferMask))
	}
	if p.Filled&prepare.Bias != 0 {
		p.Bias = map[penstock.Token]float32{}
		ids, amounts := numbers[uint32](s.bound(abi.BufferBias)), numbers[float32](s.bound(abi.BufferBias))
		for i := range int(ids[0]) {
			p.Bias[penstock.Token(ids[1+2*i])] += amounts[2+2*i]
		}
	}
	if p.Filled&prepare.Force != 0 {
		w := numbers[uint32](s.bound(abi.BufferSplice))
		if w[0] != 0 || w[1] != 1 {
			s.t.Fatalf("a forced token with backtrack %d and n %d, want 0 and 1", w[0], w[1])
		}
		p.Forced = penstock.Token(w[2])
	}
	s.note(call{Export: "penstock_prepare", Mask: slices.Clone(p.Mask), Bias: p.Bias, Answer: p.Forced})
	return p
}

// bound is a buffer that the plugin says it filled.
func (s *Session) bound(kind int) []byte {
	s.t.Helper()
	if s.buffers[kind] == nil {
		s.t.Fatalf("buffer %d was never made", kind)
	}
	return s.buffers[kind]
}
