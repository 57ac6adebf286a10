// SPDX-License-Identifier: MIT

package plugintest

import (
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// numbers reads bytes of a buffer, aligned to 4.
func numbers[T uint32 | float32](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Sample shows the plugin candidates, best first, or none if its view is None. It returns the
// plugin's choice, and writes the result to ids and logits: candidates that the plugin did not keep
// have the logit −Inf. Candidates with a logit of −Inf come last and are not shown.
func (s *Session) Sample(ids []penstock.Token, logits []float32) penstock.Choice {
	s.t.Helper()
	n := len(logits)
	for n > 0 && math.IsInf(float64(logits[n-1]), -1) {
		n--
	}
	view := s.buffers[abi.BufferCandidates]
	half := len(view) / 8 * 4
	toIDs, toLogits := numbers[penstock.Token](view[:half]), numbers[float32](view[half:2*half])
	if n > len(toLogits) || len(ids) != len(logits) {
		s.t.Fatalf("%d tokens with %d logits for a view of %d candidates", len(ids), n, len(toLogits))
	}
	if n > 0 {
		s.check("shown", ids[:n], logits[:n])
	}
	done := call{Call: "sample", IDs: slices.Clone(ids[:n]), Logits: slices.Clone(logits[:n])}
	copy(toIDs, ids[:n])
	copy(toLogits, logits[:n])
	choice := s.chosen(n)
	if choice == penstock.Biased {
		done.Answer, done.Bias = (*int32)(&choice), s.biased(ids[:n], logits[:n])
		s.note(done)
		return choice
	}
	switch kept := int(-1 - choice); {
	case kept > n:
		s.t.Fatalf("sample keeps %d candidates of %d", kept, n)
	case kept > 0:
		for i := kept; i < n; i++ {
			logits[i] = float32(math.Inf(-1))
		}
	case n > 0:
		copy(ids, toIDs[:n])
		copy(logits, toLogits[:n])
		s.check("left", ids[:n], logits[:n])
	}
	if done.Answer = (*int32)(&choice); choice == penstock.Edited && n > 0 {
		done.Left = &left{slices.Clone(ids[:n]), slices.Clone(logits[:n])}
	}
	s.note(done)
	return choice
}

// SampleRow shows the plugin a whole row. It returns the plugin's choice, and writes the result to
// the logits.
func (s *Session) SampleRow(row []float32) penstock.Choice {
	s.t.Helper()
	view := numbers[float32](s.buffers[abi.BufferLogits])
	if len(view) != len(row) {
		s.t.Fatalf("%d logits for a view of %d", len(row), len(view))
	}
	done := call{Call: "sample", Logits: slices.Clone(row)}
	copy(view, row)
	choice := s.chosen(len(row))
	if choice == penstock.Biased {
		done.Answer, done.Bias = (*int32)(&choice), s.biased(nil, row)
		s.note(done)
		return choice
	}
	copy(row, view)
	if choice < penstock.Edited {
		s.t.Fatal("sample keeps candidates of a row, which has none")
	}
	s.finite("left", row)
	if done.Answer = (*int32)(&choice); choice == penstock.Edited {
		done.Left = &left{Logits: slices.Clone(row)}
	}
	s.note(done)
	return choice
}

// biased adds what the plugin wants to the logits of these tokens; without ids to those of a row.
func (s *Session) biased(ids []penstock.Token, logits []float32) (all []bias) {
	s.t.Helper()
	tokens, amounts := numbers[uint32](s.bound(abi.BufferBias)), numbers[float32](s.bound(abi.BufferBias))
	for i := range int(tokens[0]) {
		t, amount := tokens[1+2*i], amounts[2+2*i]
		if !(host{s: s}).known(int32(t)) || !(amount <= math.MaxFloat32) {
			s.t.Fatalf("sample biases token %d by %v", t, amount)
		}
		all = append(all, bias{t, amount})
		for k := range logits {
			if ids == nil && penstock.Token(k) == t || ids != nil && ids[k] == t {
				logits[k] = min(logits[k]+amount, math.MaxFloat32)
			}
		}
	}
	if len(logits) > 0 {
		s.finite("left", logits)
	}
	return all
}

func (s *Session) chosen(n int) penstock.Choice {
	s.t.Helper()
	choice := penstock.Choice(s.callWithState(with(guest.Sample, int32(n))))
	if t, ok := choice.Token(); ok && !(host{s: s}).known(int32(t)) {
		s.t.Fatalf("sample takes token %d; there are %d tokens", t, len(s.Pieces))
	}
	return choice
}

// check ends the test where candidates are not what the host would show or take.
func (s *Session) check(what string, ids []penstock.Token, logits []float32) {
	s.t.Helper()
	seen := make(map[penstock.Token]bool, len(ids))
	for i, t := range ids {
		if !(host{s: s}).known(int32(t)) || seen[t] {
			s.t.Fatalf("candidate %d that is %s is token %d: twice, or not one of %d", i, what, t, len(s.Pieces))
		}
		seen[t] = true
	}
	s.finite(what, logits)
}

func (s *Session) finite(what string, logits []float32) {
	s.t.Helper()
	some := false
	for i, x := range logits {
		if !(x <= math.MaxFloat32) {
			s.t.Fatalf("candidate %d that is %s has the logit %v", i, what, x)
		}
		some = some || x >= -math.MaxFloat32
	}
	if !some {
		s.t.Fatalf("no candidate that is %s is above −Inf", what)
	}
}

// Prepared has the plugin's constraints for the next token.
type Prepared struct {
	Mask   []uint32 // a bit for each token that may come; nil: any may
	Bias   map[penstock.Token]float32
	Forced []penstock.Token // what comes next, whatever the logits
}

// Prepare calls the plugin's Prepare.
func (s *Session) Prepare() (p Prepared) {
	s.t.Helper()
	filled := s.call(guest.Prepare)
	if filled&^(abi.PrepareMask|abi.PrepareBias|abi.PrepareForce) != 0 {
		s.t.Fatalf("prepare answered %#x, which has bits that mean nothing", filled)
	}
	done := call{Call: "prepare", Answer: &filled}
	if filled&abi.PrepareMask != 0 {
		p.Mask = slices.Clone(numbers[uint32](s.bound(abi.BufferMask)))
		done.Mask = newMask(p.Mask, len(s.Pieces))
	}
	if filled&abi.PrepareBias != 0 {
		p.Bias = map[penstock.Token]float32{}
		ids, amounts := numbers[uint32](s.bound(abi.BufferBias)), numbers[float32](s.bound(abi.BufferBias))
		for i := range int(ids[0]) {
			p.Bias[ids[1+2*i]] += amounts[2+2*i]
			done.Bias = append(done.Bias, bias{ids[1+2*i], amounts[2+2*i]})
		}
	}
	if filled&abi.PrepareForce != 0 {
		p.Forced = s.forced()
		done.Force = p.Forced
	}
	s.note(done)
	return p
}

func (s *Session) forced() []penstock.Token {
	s.t.Helper()
	w := numbers[uint32](s.bound(abi.BufferSplice))
	if w[0] != 0 || w[1] == 0 || int(w[1]) > len(w)-2 {
		s.t.Fatalf("%d tokens are forced with backtrack %d; there is room for %d, see the manifest's Splice", w[1], w[0], len(w)-2)
	}
	for _, t := range w[2 : 2+w[1]] {
		if !(host{s: s}).known(int32(t)) {
			s.t.Fatalf("token %d is forced; there are %d tokens", t, len(s.Pieces))
		}
	}
	return slices.Clone(w[2 : 2+w[1]])
}

// bound is a buffer that the plugin says it filled.
func (s *Session) bound(kind int) []byte {
	s.t.Helper()
	if s.buffers[kind] == nil {
		s.t.Fatalf("buffer %d was never made", kind)
	}
	return s.buffers[kind]
}
