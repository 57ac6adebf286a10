// SPDX-License-Identifier: MIT

package tck

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

var (
	banned  = float32(math.Inf(-1))
	highest = float32(math.MaxFloat32)
)

// viewCases are about sample and what it sees.
func viewCases() []Case {
	choosing := newDraft("chooses", `"view":"none",`)
	choosing.open(choosing.pick()).on(abi.ExportSample, choosing.is("n without a view", 0, asm.Local(0)), asm.Global(picked)).insists()
	afterChoice := newDraft("after-choice", `"view":"none",`).on(abi.ExportSample, asm.Unreachable).on(abi.ExportAccept, asm.I32(0))
	edited := newDraft("no-view", `"view":"none",`)
	edited.on(abi.ExportSample, edited.is("n without a view", 0, asm.Local(0)), asm.I32(abi.SampleEdited))
	return []Case{
		unchanged("candidates are the best ones, best first, all of them tokens", sortedView()),
		answered("the candidates that are left are all there is to choose from", keepsLast()),
		answered("candidates may come back in any order", reorders()),
		answered("the first candidates may be kept, as they were shown", keepsFirst(), seesOne()),
		unchanged("keeping all candidates changes nothing", keepsAll()),
		answered("what a stage left out is gone for the next", narrows(), seesTwo()),
		answered("a logits view is the whole row, and counts as it was left", rowOfOne()),
		unchanged("a row that was not edited changes nothing", rowAsItIs()),
		unchanged("without a view sample may still be called", edited),
		answered("an answer of 0 or more is the token, and ends the chain", choosing, afterChoice),
	}
}

// each is code for the candidates up to n, the parameter of sample: local 1 counts in steps of 4
// bytes as local 2 does.
func eachCandidate(code ...[]byte) []byte {
	return asm.Each(1, asm.Local(0), slices.Concat(asm.Local(1), asm.I32(4), asm.Multiply, asm.SetLocal(2), slices.Concat(code...)))
}

// id and logit read the candidate that eachCandidate is at, or what stands back bytes before it.
func id() []byte { return slices.Concat(asm.I32(atView), asm.Local(2), asm.Add, asm.Load) }

func logit(back int) []byte {
	return slices.Concat(asm.I32(atLogit-back), asm.Local(2), asm.Add, asm.LoadF32)
}

func sortedView() *draft {
	d := newDraft("candidates", `"candidates":64,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample,
		d.must("there are candidates", asm.Local(0)),
		d.must("no more than asked for", asm.Local(0), asm.I32(65), asm.Less),
		eachCandidate(d.must("they are in the vocabulary", id(), d.Call(abi.ImportVocabSize), asm.Less),
			asm.Local(1), asm.When(d.must("best first", logit(0), logit(4), asm.AtMostF32))),
		asm.I32(abi.SampleEdited))
}

// keepsLast bans all but the worst candidate.
func keepsLast() *draft {
	d := newDraft("keeps-last", `"candidates":8,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample,
		eachCandidate(id(), asm.SetGlobal(picked), asm.Local(1), asm.I32(1), asm.Add, asm.Local(0), asm.Less,
			asm.When(asm.I32(atLogit), asm.Local(2), asm.Add, asm.F32(banned), asm.StoreF32)),
		asm.I32(abi.SampleEdited)).insists()
}

// reorders swaps the first two candidates.
func reorders() *draft {
	d := newDraft("reorders", "")
	at := func(address int) []byte { return slices.Concat(asm.I32(address), asm.Load) }
	swap := func(a int) []byte {
		return slices.Concat(at(a), asm.SetLocal(1), asm.I32(a), at(a+4), asm.Store, asm.I32(a+4), asm.Local(1), asm.Store)
	}
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, at(atView), asm.SetGlobal(picked),
		d.must("two or more candidates", asm.I32(1), asm.Local(0), asm.Less), swap(atView), swap(atLogit), asm.I32(abi.SampleEdited)).insists()
}

// keepsFirst keeps the best candidate, which it tries to replace by another.
func keepsFirst() *draft {
	d := newDraft("keeps-first", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, asm.I32(atView), asm.Load, asm.SetGlobal(picked),
		d.must("two or more candidates", asm.I32(1), asm.Local(0), asm.Less),
		asm.I32(atView), asm.I32(atView+4), asm.Load, asm.Store, asm.PokeF(atLogit, banned), asm.I32(-2)).insists()
}

func seesOne() *draft {
	d := newDraft("sees-one", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.is("one candidate was kept", 1, asm.Local(0)),
		d.must("its logit is what it was", asm.I32(atLogit), asm.LoadF32, asm.F32(-highest), asm.AtMostF32, asm.EqualZero),
		asm.I32(atView), asm.Load, asm.SetGlobal(picked), asm.I32(abi.SampleEdited)).insists()
}

func keepsAll() *draft {
	d := newDraft("keeps-all", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, asm.I32(-1), asm.Local(0), asm.Subtract)
}

func narrows() *draft {
	d := newDraft("narrows", `"candidates":3,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.is("candidates of the manifest", 3, asm.Local(0)),
		asm.PokeF(atLogit, banned), asm.I32(abi.SampleEdited))
}

func seesTwo() *draft {
	d := newDraft("sees-two", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.is("candidates of three, one of them banned", 2, asm.Local(0)),
		asm.I32(atView), asm.Load, asm.SetGlobal(picked), asm.I32(abi.SampleEdited)).insists()
}

// rowOfOne bans all tokens but the picked one.
func rowOfOne() *draft {
	d := newDraft("row-of-one", `"view":"logits",`)
	place := func(token []byte) []byte {
		return slices.Concat(asm.I32(atRow), token, asm.I32(4), asm.Multiply, asm.Add)
	}
	return d.open(d.bind(abi.BufferLogits), d.pick()).on(abi.ExportSample,
		d.equal("n is the size of the vocabulary", asm.Local(0), d.Call(abi.ImportVocabSize)),
		asm.Each(1, asm.Local(0), place(asm.Local(1)), asm.F32(banned), asm.StoreF32),
		place(asm.Global(picked)), asm.F32(1), asm.StoreF32, asm.I32(abi.SampleEdited)).insists()
}

func rowAsItIs() *draft {
	d := newDraft("row-as-it-is", `"view":"logits",`)
	return d.open(d.bind(abi.BufferLogits)).on(abi.ExportSample,
		asm.Each(1, asm.Local(0), d.must("logits are numbers",
			asm.I32(atRow), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add, asm.LoadF32, asm.F32(highest), asm.AtMostF32)),
		asm.I32(abi.SampleEdited))
}

var (
	notANumber = float32(math.NaN())
	infinite   = float32(math.Inf(1))
)

// answerCases give answers that the ABI does not know, or fill buffers with what may not be there.
func answerCases() []Case {
	cases := append(sampleAnswers(), prepareAnswers()...)
	stops := func(name, rule string, answer int) Case {
		d := newDraft(name, "")
		return faulted(rule, abi.ExportStop, causeAnswer, d.open(d.bind(abi.BufferText)).on(abi.ExportStop, asm.I32(answer)))
	}
	accepts := func(name, rule string, answer int) Case {
		return faulted(rule, abi.ExportAccept, causeAnswer, newDraft(name, "").on(abi.ExportAccept, asm.I32(answer)))
	}
	told := newDraft("rewind-answer", "")
	rewind := faulted("an unknown answer of rewind", abi.ExportRewind, causeAnswer, replaces("before-rewind-answer"), told.on(abi.ExportRewind, asm.I32(1)))
	rewind.Name = "rewind-answer"
	return append(cases, rewind,
		accepts("accept-answer", "an unknown answer of accept", 3), accepts("accept-negative", "a negative answer of accept", -1),
		accepts("splice-unbound", "a splice without a buffer", abi.AcceptSplice),
		stops("stop-answer", "an unknown answer of stop", 4), stops("stop-too-much", "more text than there is", -5000),
		stops("stop-least", "the least number there is", math.MinInt32))
}

func sampleAnswers() []Case {
	edits := func(name, rule string, code ...[]byte) Case {
		d := newDraft(name, "")
		return faulted(rule, abi.ExportSample, causeAnswer,
			d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, append(code, asm.I32(abi.SampleEdited))...))
	}
	rows := func(name, rule string, code ...[]byte) Case {
		d := newDraft(name, `"view":"logits",`)
		return faulted(rule, abi.ExportSample, causeAnswer,
			d.open(d.bind(abi.BufferLogits)).on(abi.ExportSample, append(code, asm.I32(abi.SampleEdited))...))
	}
	size := newDraft("token-past-last", `"view":"none",`)
	return []Case{
		edits("id-negative", "a candidate that is no token", asm.Poke(atView, -1)),
		edits("id-large", "a candidate past the vocabulary", asm.Poke(atView, 1<<30)),
		edits("id-twice", "a candidate twice", asm.I32(atView+4), asm.I32(atView), asm.Load, asm.Store),
		edits("logit-nan", "a logit that is no number", asm.PokeF(atLogit+4, notANumber)),
		edits("logit-infinite", "an infinite logit", asm.PokeF(atLogit, infinite)),
		edits("no-candidate", "no candidate above −inf", eachCandidate(asm.I32(atLogit), asm.Local(2), asm.Add, asm.F32(banned), asm.StoreF32)),
		rows("row-nan", "a row with what is no number", asm.PokeF(atRow+8, notANumber)),
		rows("row-infinite", "a row with an infinite logit", asm.PokeF(atRow, infinite)),
		rows("row-empty", "a row with nothing above −inf",
			asm.Each(1, asm.Local(0), asm.I32(atRow), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add, asm.F32(banned), asm.StoreF32)),
		faulted("a token past the vocabulary", abi.ExportSample, causeAnswer, size.on(abi.ExportSample, size.Call(abi.ImportVocabSize))),
		rows("row-keep", "keeping the first of a row", asm.I32(-2), asm.Return),
		edits("keep-more", "keeping more candidates than there are", asm.I32(-2), asm.Local(0), asm.Subtract, asm.Return),
		edits("keep-most", "keeping 2,147,483,647 candidates", asm.I32(math.MinInt32), asm.Return),
		faulted("an unknown answer of sample", abi.ExportSample, causeAnswer, newDraft("sample-answer", `"view":"none",`).on(abi.ExportSample, asm.I32(-2))),
	}
}

func prepareAnswers() []Case {
	fills := func(name, rule string, bits int, code ...[]byte) Case {
		d := newDraft(name, "")
		d.open(d.bind(abi.BufferMask, abi.BufferBias, abi.BufferSplice), d.pick())
		return faulted(rule, abi.ExportPrepare, causeAnswer, d.on(abi.ExportPrepare, append(code, asm.I32(bits))...))
	}
	unbound := func(name string, bits int) Case {
		return faulted("a bit for a buffer that is not bound", abi.ExportPrepare, causeAnswer, newDraft(name, "").on(abi.ExportPrepare, asm.I32(bits)))
	}
	token := asm.Global(picked)
	only := func(name string, further int) *draft {
		d := newDraft(name, "")
		d.open(d.bind(abi.BufferMask), d.pick(), maskBit(slices.Concat(token, asm.I32(further), asm.Add)))
		return d.on(abi.ExportPrepare, asm.I32(abi.PrepareMask))
	}
	apart := faulted("masks that allow nothing together", abi.ExportPrepare, causeConflict, only("mask-one", 0), only("mask-other", 1))
	apart.Name = "masks-apart"
	return []Case{
		fills("unknown-bit", "a bit that means nothing", 8), fills("negative-bits", "a negative answer of prepare", -1),
		unbound("mask-unbound", abi.PrepareMask), unbound("bias-unbound", abi.PrepareBias), unbound("force-unbound", abi.PrepareForce),
		fills("mask-nothing", "a mask that allows nothing", abi.PrepareMask), apart,
		fills("bias-nan", "a bias that is no number", abi.PrepareBias, bias(token, notANumber)),
		fills("bias-infinite", "an infinite bias", abi.PrepareBias, bias(token, infinite)),
		fills("bias-no-token", "a bias on no token", abi.PrepareBias, bias(asm.I32(-1), 1)),
		fills("bias-many", "more biases than fit", abi.PrepareBias, asm.Poke(atBias, biasCap+1)),
		fills("bias-most", "4,294,967,295 biases", abi.PrepareBias, asm.Poke(atBias, -1)),
		fills("force-none", "forcing no token", abi.PrepareForce, splice(0)),
		fills("force-back", "forcing and taking back", abi.PrepareForce, splice(1, token)),
		fills("force-no-token", "forcing what is no token", abi.PrepareForce, splice(0, asm.I32(-1))),
		fills("force-many", "forcing more than fits", abi.PrepareForce, asm.Poke(atSplice+4, -1)),
	}
}
