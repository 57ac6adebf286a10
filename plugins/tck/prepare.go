// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
)

// prepareCases are about what is filled before the logits exist.
func prepareCases() []Case {
	return []Case{
		unchanged("prepare is called once before each sample", prepares()),
		answered("a mask allows its tokens only, and every stage sees that", masks("mask", 0)),
		answered("masks of several plugins are joined by AND", masks("mask-and", 1), masks("and-mask", 2)),
		answered("biases are added to the raw row", biases("bias", 1e9)),
		answered("biases of several plugins add up", biases("bias-sum", 2e9), biases("sum-bias", -1e9)),
		answered("a bias of −inf bans", bans()),
		answered("mask and bias may come together", maskAndBias()),
		answered("a forced token is the next one: no sample runs, every accept does",
			forces("force"), newDraft("force-others", `"view":"none",`).on(abi.ExportSample, p.Unreachable).on(abi.ExportAccept, p.I32(0))),
		answered("the first plugin that forces wins", forces("force-first"), forcesOther()),
		unchanged("bits beyond the vocabulary are ignored", allAllowed()),
	}
}

// prepares counts prepares in global 1 and samples in global 2.
func prepares() *draft {
	d := newDraft("prepares", `"view":"none",`)
	d.on(abi.ExportPrepare, count(1), p.I32(0))
	return d.on(abi.ExportSample, count(2), d.like("as many prepares as samples", p.Global(1), p.Global(2)), p.I32(abi.SampleEdited))
}

// maskBit allows a token that code leaves.
func maskBit(token []byte) []byte {
	word := join([][]byte{p.I32(atMask), token, p.I32(5), p.ShiftRight, p.I32(4), p.Multiply, p.Add})
	return join([][]byte{word, word, p.Load, p.I32(1), token, p.ShiftLeft, p.Or, p.Store})
}

// masks allows the picked token, and the one so many further; 0: only the picked one.
func masks(name string, further int) *draft {
	d := newDraft(name, "")
	d.open(d.bind(abi.BufferMask, abi.BufferCandidates), d.pick(), maskBit(p.Global(picked)),
		maskBit(join([][]byte{p.Global(picked), p.I32(further), p.Add})))
	d.on(abi.ExportPrepare, p.I32(abi.PrepareMask))
	d.on(abi.ExportSample, d.same("candidates that the masks allow", 1, p.Local(0)), p.I32(abi.SampleEdited))
	return d.insists()
}

// bias is code that fills the bias buffer with one entry.
func bias(token []byte, value float32) []byte {
	return join([][]byte{p.Poke(atBias, 1), p.I32(atBias + 4), token, p.Store, p.PokeF(atBias+8, value)})
}

func biases(name string, value float32) *draft {
	d := newDraft(name, "")
	d.open(d.bind(abi.BufferBias), d.pick(), bias(p.Global(picked), value))
	return d.on(abi.ExportPrepare, p.I32(abi.PrepareBias)).insists()
}

// bans remembers the best candidate of the first token, and bans it from the second on.
func bans() *draft {
	d := newDraft("bias-bans", "")
	d.open(d.bind(abi.BufferBias, abi.BufferCandidates))
	d.on(abi.ExportPrepare, bias(p.Global(picked), banned), d.generated(), p.When(p.I32(abi.PrepareBias), p.Return), p.I32(0))
	d.on(abi.ExportSample, p.Global(picked), p.When(eachCandidate(d.must("the banned token is no candidate", id(), p.Global(picked), p.Equal, p.EqualZero))),
		p.I32(atView), p.Load, p.SetGlobal(picked), p.I32(abi.SampleEdited))
	return d.insists()
}

// maskAndBias allows two tokens, and prefers one.
func maskAndBias() *draft {
	d := newDraft("mask-and-bias", "")
	d.open(d.bind(abi.BufferMask, abi.BufferBias), d.pick(), maskBit(p.Global(picked)), maskBit(p.I32(0)), bias(p.Global(picked), 1e9))
	return d.on(abi.ExportPrepare, p.I32(abi.PrepareMask|abi.PrepareBias)).insists()
}

// forces forces the picked token.
func forces(name string) *draft {
	d := newDraft(name, `"view":"none",`)
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, p.Global(picked)))
	d.on(abi.ExportSample, p.Unreachable)
	return d.on(abi.ExportPrepare, p.I32(abi.PrepareForce)).insists()
}

// forcesOther forces a token that is not the picked one, which is nevertheless accepted.
func forcesOther() *draft {
	d := newDraft("force-second", "")
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, join([][]byte{p.Global(picked), p.I32(1), p.Add})))
	return d.on(abi.ExportPrepare, p.I32(abi.PrepareForce)).insists()
}

func allAllowed() *draft {
	d := newDraft("mask-all", "")
	return d.open(d.bind(abi.BufferMask), p.I32(atMask), p.I32(-1), p.I32(maskSize), p.Fill).on(abi.ExportPrepare, p.I32(abi.PrepareMask))
}
