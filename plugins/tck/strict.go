// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
