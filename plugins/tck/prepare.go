// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
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
			forces("force"), newDraft("force-others", `"view":"none",`).on(abi.ExportSample, asm.Unreachable).on(abi.ExportAccept, asm.I32(0))),
		answered("the first plugin that forces wins", forces("force-first"), forcesOther()),
		unchanged("bits beyond the vocabulary are ignored", allAllowed()),
	}
}

// prepares counts prepares in global 1 and samples in global 2.
func prepares() *draft {
	d := newDraft("prepares", `"view":"none",`)
	d.on(abi.ExportPrepare, count(1), asm.I32(0))
	return d.on(abi.ExportSample, count(2), d.equal("as many prepares as samples", asm.Global(1), asm.Global(2)), asm.I32(abi.SampleEdited))
}

// maskBit allows a token that code leaves.
func maskBit(token []byte) []byte {
	word := slices.Concat(asm.I32(atMask), token, asm.I32(5), asm.ShiftRight, asm.I32(4), asm.Multiply, asm.Add)
	return slices.Concat(word, word, asm.Load, asm.I32(1), token, asm.ShiftLeft, asm.Or, asm.Store)
}

// masks allows the picked token and the one further places after it, or with 0 the picked one
// alone.
func masks(name string, further int) *draft {
	d := newDraft(name, "")
	d.open(d.bind(abi.BufferMask, abi.BufferCandidates), d.pick(), maskBit(asm.Global(picked)),
		maskBit(slices.Concat(asm.Global(picked), asm.I32(further), asm.Add)))
	d.on(abi.ExportPrepare, asm.I32(abi.PrepareMask))
	d.on(abi.ExportSample, d.is("candidates that the masks allow", 1, asm.Local(0)), asm.I32(abi.SampleEdited))
	return d.insists()
}

// bias is code that fills the bias buffer with one entry.
func bias(token []byte, value float32) []byte {
	return slices.Concat(asm.Poke(atBias, 1), asm.I32(atBias+4), token, asm.Store, asm.PokeF(atBias+8, value))
}

func biases(name string, value float32) *draft {
	d := newDraft(name, "")
	d.open(d.bind(abi.BufferBias), d.pick(), bias(asm.Global(picked), value))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareBias)).insists()
}

// bans remembers the best candidate of the first token, and bans it from the second on.
func bans() *draft {
	d := newDraft("bias-bans", "")
	d.open(d.bind(abi.BufferBias, abi.BufferCandidates))
	d.on(abi.ExportPrepare, bias(asm.Global(picked), banned), d.generated(), asm.When(asm.I32(abi.PrepareBias), asm.Return), asm.I32(0))
	other := d.must("the banned token is no candidate", id(), asm.Global(picked), asm.Equal, asm.EqualZero)
	d.on(abi.ExportSample, asm.Global(picked), asm.When(eachCandidate(other)),
		asm.I32(atView), asm.Load, asm.SetGlobal(picked), asm.I32(abi.SampleEdited))
	return d.insists()
}

// maskAndBias allows two tokens, and prefers one.
func maskAndBias() *draft {
	d := newDraft("mask-and-bias", "")
	d.open(d.bind(abi.BufferMask, abi.BufferBias), d.pick(), maskBit(asm.Global(picked)), maskBit(asm.I32(0)), bias(asm.Global(picked), 1e9))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareMask|abi.PrepareBias)).insists()
}

// forces forces the picked token.
func forces(name string) *draft {
	d := newDraft(name, `"view":"none",`)
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, asm.Global(picked)))
	d.on(abi.ExportSample, asm.Unreachable)
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareForce)).insists()
}

// forcesOther forces a token that is not the picked one, which is nevertheless accepted.
func forcesOther() *draft {
	d := newDraft("force-second", "")
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, slices.Concat(asm.Global(picked), asm.I32(1), asm.Add)))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareForce)).insists()
}

func allAllowed() *draft {
	d := newDraft("mask-all", "")
	return d.open(d.bind(abi.BufferMask), asm.I32(atMask), asm.I32(-1), asm.I32(maskSize), asm.Fill).on(abi.ExportPrepare, asm.I32(abi.PrepareMask))
}

// strictCases are about masks that bind what other plugins ask for, and about logits that are
// biased after they were seen.
func strictCases() []Case {
	another := slices.Concat(asm.Global(picked), asm.I32(1), asm.Add)
	sampled := newDraft("strict-chooses", `"view":"none",`)
	sampled.open(sampled.pick()).on(abi.ExportSample, another)
	spliced := newDraft("strict-splices", `"hold":1,`)
	spliced.open(spliced.bind(abi.BufferSplice), spliced.pick()).on(abi.ExportAccept, once(splice(1, another), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(0))
	return []Case{
		answered("a mask binds no forced token, unless its manifest says so", strictMask("mask-lax", false), forcesAnother("force-beside")),
		faulted("with strict_mask the plugin that forces another token is at fault", abi.ExportPrepare, causeConflict, strictMask("mask-strict", true), forcesAnother("force-against")),
		faulted("so is one that chooses another", abi.ExportSample, causeConflict, strictMask("mask-strict-choice", true), sampled),
		faulted("so is one that splices another", abi.ExportAccept, causeConflict, strictMask("mask-strict-splice", true), spliced),
		faulted("of forced tokens each is tested", abi.ExportPrepare, causeConflict, strictMask("mask-strict-run", true), forcesTwo()),
		answered("what the mask allows may be forced", strictMask("mask-strict-allows", true), forces("force-allowed")),
		answered("the answer goes on without it where faults are skipped", strictMask("mask-strict-skip", true), forcesAnother("force-skipped")).in(Request{Skip: true}),
		answered("logits may be biased after they were seen, also those that the view does not show", biasesUnseen()),
		answered("a bias of −inf bans, and nothing is truncated", bansBest(), seesRest()),
		faulted("a bias that leaves no token", abi.ExportSample, causeAnswer, keepsFirstOnly("bias-none-first"), bansAll()),
		faulted("a biased answer without a bias buffer", abi.ExportSample, causeAnswer, unboundBias()),
		faulted("a bias that is NaN", abi.ExportSample, causeAnswer, nanBias()),
	}
}

// strictMask allows the picked token only.
func strictMask(name string, strict bool) *draft {
	fields := ""
	if strict {
		fields = `"strict_mask":true,`
	}
	d := newDraft(name, fields)
	d.open(d.bind(abi.BufferMask), d.pick(), maskBit(asm.Global(picked)))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareMask))
}

// forcesAnother forces the token after the picked one.
func forcesAnother(name string) *draft {
	d := newDraft(name, "")
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, slices.Concat(asm.Global(picked), asm.I32(1), asm.Add)))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareForce))
}

// forcesTwo forces the picked token and the one after it.
func forcesTwo() *draft {
	d := newDraft("force-run-against", "")
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, asm.Global(picked), slices.Concat(asm.Global(picked), asm.I32(1), asm.Add)))
	return d.on(abi.ExportPrepare, asm.I32(abi.PrepareForce))
}

// biasesUnseen sees one candidate, and makes another token by far the likeliest.
func biasesUnseen() *draft {
	d := newDraft("bias-unseen", `"candidates":1,"place":"first",`)
	return d.open(d.bind(abi.BufferCandidates, abi.BufferBias), d.pick()).
		on(abi.ExportSample, bias(asm.Global(picked), 1e9), asm.I32(abi.SampleBiased)).insists()
}

// bansBest sees one candidate, and bans it.
func bansBest() *draft {
	d := newDraft("bias-best", `"candidates":1,"place":"first",`)
	best := slices.Concat(asm.I32(atView), asm.Load)
	return d.open(d.bind(abi.BufferCandidates, abi.BufferBias)).
		on(abi.ExportSample, best, asm.SetGlobal(picked), bias(asm.Global(picked), banned), asm.I32(abi.SampleBiased)).
		on(abi.ExportAccept, d.must("the banned token is not chosen", asm.Local(0), asm.Global(picked), asm.Equal, asm.EqualZero), asm.I32(0))
}

func seesRest() *draft {
	d := newDraft("bias-rest", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.must("more than one candidate is left", asm.I32(1), asm.Local(0), asm.Less), asm.I32(abi.SampleEdited))
}

// keepsFirstOnly leaves one candidate.
func keepsFirstOnly(name string) *draft {
	d := newDraft(name, "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, asm.I32(-2))
}

// bansAll bans the only candidate.
func bansAll() *draft {
	d := newDraft("bias-none", "")
	best := slices.Concat(asm.I32(atView), asm.Load)
	return d.open(d.bind(abi.BufferCandidates, abi.BufferBias)).on(abi.ExportSample, bias(best, banned), asm.I32(abi.SampleBiased))
}

func unboundBias() *draft {
	d := newDraft("bias-sample-unbound", `"view":"none",`)
	return d.on(abi.ExportSample, asm.I32(abi.SampleBiased))
}

func nanBias() *draft {
	d := newDraft("bias-sample-nan", `"view":"none",`)
	return d.open(d.bind(abi.BufferBias)).on(abi.ExportSample, asm.Poke(atBias, 1), asm.Poke(atBias+4, 1), asm.Poke(atBias+8, 0x7fc00000), asm.I32(abi.SampleBiased))
}
