// SPDX-License-Identifier: MIT

package tck

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
