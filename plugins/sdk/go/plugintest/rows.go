// SPDX-License-Identifier: MIT

package plugintest

import (
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// This file has what programs do to rows, and what they do without rows: runs, choices and adopted
// answers.

// running is a run that has not begun.
type running struct {
	chain int32
	left  int32
	flags int32
}

// still is a branch that does not run.
func (h host) still(handle int32) *branch {
	b := h.of(handle)
	if b.run != nil {
		h.s.t.Fatal("the branch goes on by itself; wait for it")
	}
	return b
}

func (h host) refuse(reason string) int32 {
	h.running().reason = reason
	return abi.BranchRefused
}

// BranchReason implements abi.Host.
func (h host) BranchReason(p unsafe.Pointer, limit int32) int32 {
	return give(h.running().reason, p, limit)
}

// BranchOpenMessages implements abi.Host.
func (h host) BranchOpenMessages(text unsafe.Pointer, size int32) int32 {
	if h.s.Template == nil {
		h.s.t.Fatal("Request.Template is nil: it makes prompts of messages")
	}
	tokens, err := h.s.Template(take(text, size))
	switch {
	case err != nil:
		return h.refuse(err.Error())
	case len(tokens) == 0:
		return h.refuse("the template makes an empty prompt of the messages")
	}
	return h.begun(tokens)
}

var impossible = float32(math.Inf(-1))

// BranchMask implements abi.Host.
func (h host) BranchMask(handle int32, p unsafe.Pointer, n int32) int32 {
	row := slices.Clone(h.rowOf(handle))
	if int(n) != (len(row)+31)/32 {
		h.s.t.Fatalf("a mask of %d words for %d tokens", n, len(row))
	}
	words := unsafe.Slice((*uint32)(p), n)
	for t := range row {
		if words[t>>5]>>(t&31)&1 == 0 {
			row[t] = impossible
		}
	}
	h.of(handle).row = row
	return 0
}

// BranchMix implements abi.Host.
func (h host) BranchMix(handle int32, list unsafe.Pointer, n int32) int32 {
	if n < 1 || n > abi.LimitBranches {
		h.s.t.Fatalf("a sum of %d rows; from 1 to %d may be", n, abi.LimitBranches)
	}
	sum := make([]float32, len(h.rowOf(handle)))
	entries := unsafe.Slice((*[2]uint32)(list), n)
	for _, e := range entries {
		weight := math.Float32frombits(e[1])
		if math.IsNaN(float64(weight)) || math.IsInf(float64(weight), 0) {
			h.s.t.Fatalf("a row is weighted with %v", weight)
		}
		for t, l := range h.rowOf(int32(e[0])) {
			switch {
			case weight == 0:
			case l == impossible:
				sum[t] = impossible
			case sum[t] != impossible:
				sum[t] += weight * l
			}
		}
	}
	h.of(handle).row = sum
	return 0
}

// BranchGrammar implements abi.Host: as a host without a grammar engine, where no grammar has a
// handle.
func (h host) BranchGrammar(handle, grammar int32) int32 {
	if h.still(handle); grammar != -1 {
		h.s.t.Fatalf("no grammar has the handle %d", grammar)
	}
	return 0
}

// BranchState implements abi.Host.
func (h host) BranchState(handle int32) int32 {
	b := h.of(handle)
	if b.run != nil {
		return abi.StateRunning
	}
	return b.state
}

// BranchSample implements abi.Host.
func (h host) BranchSample(handle, chain int32) int32 {
	row := h.rowOf(handle)
	return h.draw(h.of(handle), row, chain)
}

// BranchRun implements abi.Host. The run is made with the wait for it.
func (h host) BranchRun(handle, chain, n, flags int32) int32 {
	b := h.still(handle)
	if n < 1 || flags&^abi.AppendScored != 0 {
		h.s.t.Fatalf("a run of %d tokens with the flags %#x", n, flags)
	}
	h.chain(chain)
	if size := h.s.ContextSize; size > 0 {
		if n = min(n, int32(size-1-len(b.tokens))); n < 1 {
			return abi.BranchContextFull
		}
	}
	b.run, b.state = &running{chain, n, flags}, abi.StatePending
	return 0
}

// goOn does what a run does.
func (h host) goOn(b *branch) {
	run := b.run
	b.run = nil
	for b.state = abi.StateRan; run.left > 0; run.left-- {
		if b.row == nil {
			h.compute(b)
		}
		t := h.draw(b, b.row, run.chain)
		switch {
		case t < 0:
			b.state = abi.StateStuck
			return
		case h.s.Attributes[penstock.Token(t)]&penstock.AttrEnd != 0:
			b.state = abi.StateEnded
			return
		}
		if b.state = abi.StateRan; h.refuses(len(b.tokens), 1) != 0 {
			return
		}
		b.add(penstock.Token(t), run.flags)
		b.state = abi.StateRan // it was added by the run
	}
}

// choice is one that the client wants, which is not adopted yet.
func (h host) choice(choice int32) {
	h.running()
	if choice < 0 || int(choice) >= max(1, h.s.Choices) {
		h.s.t.Fatalf("choice %d; there are %d", choice, max(1, h.s.Choices))
	}
	if slices.ContainsFunc(h.s.adopted, func(a Adopted) bool { return a.Choice == int(choice) }) {
		h.s.t.Fatalf("choice %d goes on from a branch already", choice)
	}
}

// Adopt implements abi.Host.
func (h host) Adopt(choice, handle, from int32) int32 {
	h.choice(choice)
	tokens := slices.Clone(h.still(handle).tokens)
	if from < 1 || int(from) > len(tokens) {
		h.s.t.Fatalf("a branch of %d tokens is adopted from %d on", len(tokens), from)
	}
	begun := slices.Clone(h.s.Prompt)
	for _, s := range h.s.answer {
		if s.Choice == int(choice) {
			begun = append(begun, s.Token)
		}
	}
	if n := len(h.s.Prompt); len(begun) > n && (int(from) != n || len(tokens) < len(begun) || !slices.Equal(tokens[:len(begun)], begun)) {
		h.s.t.Fatalf("choice %d was shown tokens that the adopted branch does not begin with", choice)
	}
	h.s.adopted = append(h.s.adopted, Adopted{int(choice), tokens, int(from)})
	return 0
}
