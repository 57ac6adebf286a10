// SPDX-License-Identifier: MIT

package tck

import (
	"math"

	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
)

var (
	banned  = float32(math.Inf(-1))
	highest = float32(math.MaxFloat32)
)

// viewCases are about sample and what it sees.
func viewCases() []Case {
	choosing := newDraft("chooses", `"view":"none",`)
	choosing.open(choosing.pick()).on(abi.ExportSample, choosing.same("n without a view", 0, p.Local(0)), p.Global(picked)).insists()
	afterChoice := newDraft("after-choice", `"view":"none",`).on(abi.ExportSample, p.Unreachable).on(abi.ExportAccept, p.I32(0))
	edited := newDraft("no-view", `"view":"none",`)
	edited.on(abi.ExportSample, edited.same("n without a view", 0, p.Local(0)), p.I32(abi.SampleEdited))
	return []Case{
		unchanged("candidates are the best ones, best first, all of them tokens", sortedView()),
		answered("the candidates that are left are all there is to choose from", keepsLast()),
		answered("candidates may come back in any order", reorders()),
		answered("what a stage left out is gone for the next", narrows(), seesTwo()),
		answered("a logits view is the whole row, and counts as it was left", rowOfOne()),
		unchanged("a row that was not edited changes nothing", rowAsItIs()),
		unchanged("without a view sample may still be called", edited),
		answered("an answer of 0 or more is the token, and ends the chain", choosing, afterChoice),
	}
}

// each is code for the candidates up to n, the parameter of sample: local 1 counts in steps of 4 bytes as local 2 does.
func eachCandidate(code ...[]byte) []byte {
	return p.Each(1, p.Local(0), join([][]byte{p.Local(1), p.I32(4), p.Multiply, p.SetLocal(2), join(code)}))
}

// id and logit read the candidate that eachCandidate is at; back: so many bytes before.
func id() []byte { return join([][]byte{p.I32(atView), p.Local(2), p.Add, p.Load}) }

func logit(back int) []byte {
	return join([][]byte{p.I32(atLogit - back), p.Local(2), p.Add, p.LoadF32})
}

func sortedView() *draft {
	d := newDraft("candidates", `"candidates":64,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample,
		d.must("there are candidates", p.Local(0)),
		d.must("no more than asked for", p.Local(0), p.I32(65), p.Less),
		eachCandidate(d.must("they are in the vocabulary", id(), d.Call(abi.ImportVocabSize), p.Less),
			p.Local(1), p.When(d.must("best first", logit(0), logit(4), p.AtMostF32))),
		p.I32(abi.SampleEdited))
}

// keepsLast bans all but the worst candidate.
func keepsLast() *draft {
	d := newDraft("keeps-last", `"candidates":8,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample,
		eachCandidate(id(), p.SetGlobal(picked), p.Local(1), p.I32(1), p.Add, p.Local(0), p.Less,
			p.When(p.I32(atLogit), p.Local(2), p.Add, p.F32(banned), p.StoreF32)),
		p.I32(abi.SampleEdited)).insists()
}

// reorders swaps the first two candidates.
func reorders() *draft {
	d := newDraft("reorders", "")
	at := func(address int) []byte { return join([][]byte{p.I32(address), p.Load}) }
	swap := func(a int) []byte {
		return join([][]byte{at(a), p.SetLocal(1), p.I32(a), at(a + 4), p.Store, p.I32(a + 4), p.Local(1), p.Store})
	}
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, at(atView), p.SetGlobal(picked),
		d.must("two or more candidates", p.I32(1), p.Local(0), p.Less), swap(atView), swap(atLogit), p.I32(abi.SampleEdited)).insists()
}

func narrows() *draft {
	d := newDraft("narrows", `"candidates":3,`)
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.same("candidates of the manifest", 3, p.Local(0)),
		p.PokeF(atLogit, banned), p.I32(abi.SampleEdited))
}

func seesTwo() *draft {
	d := newDraft("sees-two", "")
	return d.open(d.bind(abi.BufferCandidates)).on(abi.ExportSample, d.same("candidates of three, one of them banned", 2, p.Local(0)),
		p.I32(atView), p.Load, p.SetGlobal(picked), p.I32(abi.SampleEdited)).insists()
}

// rowOfOne bans all tokens but the picked one.
func rowOfOne() *draft {
	d := newDraft("row-of-one", `"view":"logits",`)
	place := func(token []byte) []byte { return join([][]byte{p.I32(atRow), token, p.I32(4), p.Multiply, p.Add}) }
	return d.open(d.bind(abi.BufferLogits), d.pick()).on(abi.ExportSample,
		d.like("n is the size of the vocabulary", p.Local(0), d.Call(abi.ImportVocabSize)),
		p.Each(1, p.Local(0), place(p.Local(1)), p.F32(banned), p.StoreF32),
		place(p.Global(picked)), p.F32(1), p.StoreF32, p.I32(abi.SampleEdited)).insists()
}

func rowAsItIs() *draft {
	d := newDraft("row-as-it-is", `"view":"logits",`)
	return d.open(d.bind(abi.BufferLogits)).on(abi.ExportSample,
		p.Each(1, p.Local(0), d.must("logits are numbers", p.I32(atRow), p.Local(1), p.I32(4), p.Multiply, p.Add, p.LoadF32, p.F32(highest), p.AtMostF32)),
		p.I32(abi.SampleEdited))
}
