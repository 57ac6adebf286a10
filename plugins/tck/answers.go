// SPDX-License-Identifier: MIT

package tck

import (
	"math"

	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
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
		return faulted(rule, abi.ExportStop, causeAnswer, d.open(d.bind(abi.BufferText)).on(abi.ExportStop, p.I32(answer)))
	}
	accepts := func(name, rule string, answer int) Case {
		return faulted(rule, abi.ExportAccept, causeAnswer, newDraft(name, "").on(abi.ExportAccept, p.I32(answer)))
	}
	told := newDraft("rewind-answer", "")
	rewind := faulted("an unknown answer of rewind", abi.ExportRewind, causeAnswer, replaces("before-rewind-answer"), told.on(abi.ExportRewind, p.I32(1)))
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
			d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, append(code, p.I32(abi.SampleEdited))...))
	}
	rows := func(name, rule string, code ...[]byte) Case {
		d := newDraft(name, `"view":"logits",`)
		return faulted(rule, abi.ExportSample, causeAnswer,
			d.open(d.bind(abi.BufferLogits)).on(abi.ExportSample, append(code, p.I32(abi.SampleEdited))...))
	}
	size := newDraft("token-past-last", `"view":"none",`)
	return []Case{
		edits("id-negative", "a candidate that is no token", p.Poke(atView, -1)),
		edits("id-large", "a candidate past the vocabulary", p.Poke(atView, 1<<30)),
		edits("id-twice", "a candidate twice", p.I32(atView+4), p.I32(atView), p.Load, p.Store),
		edits("logit-nan", "a logit that is no number", p.PokeF(atLogit+4, notANumber)),
		edits("logit-infinite", "an infinite logit", p.PokeF(atLogit, infinite)),
		edits("no-candidate", "no candidate above −inf", eachCandidate(p.I32(atLogit), p.Local(2), p.Add, p.F32(banned), p.StoreF32)),
		rows("row-nan", "a row with what is no number", p.PokeF(atRow+8, notANumber)),
		rows("row-infinite", "a row with an infinite logit", p.PokeF(atRow, infinite)),
		rows("row-empty", "a row with nothing above −inf",
			p.Each(1, p.Local(0), p.I32(atRow), p.Local(1), p.I32(4), p.Multiply, p.Add, p.F32(banned), p.StoreF32)),
		faulted("a token past the vocabulary", abi.ExportSample, causeAnswer, size.on(abi.ExportSample, size.Call(abi.ImportVocabSize))),
		faulted("an unknown answer of sample", abi.ExportSample, causeAnswer, newDraft("sample-answer", `"view":"none",`).on(abi.ExportSample, p.I32(-2))),
	}
}

func prepareAnswers() []Case {
	fills := func(name, rule string, bits int, code ...[]byte) Case {
		d := newDraft(name, "")
		d.open(d.bind(abi.BufferMask, abi.BufferBias, abi.BufferSplice), d.pick())
		return faulted(rule, abi.ExportPrepare, causeAnswer, d.on(abi.ExportPrepare, append(code, p.I32(bits))...))
	}
	unbound := func(name string, bits int) Case {
		return faulted("a bit for a buffer that is not bound", abi.ExportPrepare, causeAnswer, newDraft(name, "").on(abi.ExportPrepare, p.I32(bits)))
	}
	token := p.Global(picked)
	only := func(name string, further int) *draft {
		d := newDraft(name, "")
		d.open(d.bind(abi.BufferMask), d.pick(), maskBit(join([][]byte{token, p.I32(further), p.Add})))
		return d.on(abi.ExportPrepare, p.I32(abi.PrepareMask))
	}
	apart := faulted("masks that allow nothing together", abi.ExportPrepare, causeConflict, only("mask-one", 0), only("mask-other", 1))
	apart.Name = "masks-apart"
	return []Case{
		fills("unknown-bit", "a bit that means nothing", 8), fills("negative-bits", "a negative answer of prepare", -1),
		unbound("mask-unbound", abi.PrepareMask), unbound("bias-unbound", abi.PrepareBias), unbound("force-unbound", abi.PrepareForce),
		fills("mask-nothing", "a mask that allows nothing", abi.PrepareMask), apart,
		fills("bias-nan", "a bias that is no number", abi.PrepareBias, bias(token, notANumber)),
		fills("bias-infinite", "an infinite bias", abi.PrepareBias, bias(token, infinite)),
		fills("bias-no-token", "a bias on no token", abi.PrepareBias, bias(p.I32(-1), 1)),
		fills("bias-many", "more biases than fit", abi.PrepareBias, p.Poke(atBias, biasCap+1)),
		fills("bias-most", "4,294,967,295 biases", abi.PrepareBias, p.Poke(atBias, -1)),
		fills("force-none", "forcing no token", abi.PrepareForce, splice(0)),
		fills("force-two", "forcing two tokens", abi.PrepareForce, splice(0, token, token)),
		fills("force-back", "forcing and taking back", abi.PrepareForce, splice(1, token)),
		fills("force-no-token", "forcing what is no token", abi.PrepareForce, splice(0, p.I32(-1))),
		fills("force-many", "forcing more than fits", abi.PrepareForce, p.Poke(atSplice+4, -1)),
	}
}
