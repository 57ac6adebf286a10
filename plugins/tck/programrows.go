// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// This file checks what programs are told of rows.

// number is code that reads an f32.
func number(at int) []byte { return slices.Concat(asm.I32(at), asm.LoadF32) }

// ready is code that waits for the root branch, and finds its best token.
func (d *draft) ready() []byte {
	return slices.Concat(d.is("it is ready", 1, d.waits(told, 0, asm.Local(root))), d.best(asm.Local(root)))
}

func bestCandidates(d *draft) []byte {
	const ids, logits = atView + 8, atView + 8 + 4*told
	candidates := func(k, at int) []byte { return d.of(abi.ImportBranchCandidates, asm.Local(root), k, at) }
	in := func(n int) []byte { return slices.Concat(asm.I32(atView+8), asm.I32(4*n), asm.Add, asm.Load) }
	code := slices.Concat(d.ready(), d.is("their number", told, candidates(told, atView)),
		d.must("an entropy", asm.F32(0), number(atView+4), asm.AtMostF32), d.must("the sum is more than the best", number(logits), number(atView), asm.AtMostF32),
		in(0), asm.SetGlobal(kept))
	for i := range told {
		code = slices.Concat(code, d.must("they are in the vocabulary", in(i), d.Call(abi.ImportVocabSize), asm.Less))
		if i > 0 {
			code = slices.Concat(code, d.must("best first", number(logits+4*i), number(logits+4*i-4), asm.AtMostF32))
		}
	}
	const far = atHistory // what k is told to be: more than the wait was told, none, and more than there may be
	return slices.Concat(code, d.is("more than the wait was told", 2*told, candidates(2*told, far)),
		d.equal("with the same best", asm.Global(kept), slices.Concat(asm.I32(far+8), asm.Load)),
		d.equal("and the same sum", slices.Concat(asm.I32(far), asm.Load), slices.Concat(asm.I32(atView), asm.Load)),
		asm.Poke(far+8, -9), d.is("none", 0, candidates(0, far)), d.is("of which nothing is written", -9, asm.I32(far+8), asm.Load),
		d.must("as many as there are", candidates(abi.LimitCandidates, far), d.Call(abi.ImportVocabSize), asm.I32(1), asm.Add, asm.Less))
}

func wholeRow(d *draft) []byte {
	d.Pages = rowPages
	size := d.Call(abi.ImportVocabSize)
	logits := func(limit []byte) []byte {
		return slices.Concat(asm.Local(root), asm.I32(atRow), limit, d.Call(abi.ImportBranchLogits))
	}
	in := func(token []byte) []byte {
		return slices.Concat(asm.I32(atRow), token, asm.I32(4), asm.Multiply, asm.Add)
	}
	best := slices.Concat(asm.I32(atView+8), asm.Load)
	return slices.Concat(d.ready(), asm.Poke(atRow, -9), d.equal("their number where they do not fit", logits(slices.Concat(size, asm.I32(1), asm.Subtract)), size),
		d.is("nothing is written", -9, asm.I32(atRow), asm.Load), d.equal("their number", logits(size), size),
		d.equal("the best candidate's", slices.Concat(in(best), asm.Load), slices.Concat(asm.I32(atView+8+4*told), asm.Load)),
		asm.Each(counter, size, d.must("none is better", in(asm.Local(counter)), asm.LoadF32, number(atView+8+4*told), asm.AtMostF32)))
}

// stateOfBranch reads the state after the prompt, which a fork has as well, and another after one
// token more.
func stateOfBranch(d *draft) []byte {
	const length = 3 // local
	state := func(branch []byte, limit []byte) []byte {
		return slices.Concat(branch, asm.I32(atHistory), limit, d.Call(abi.ImportBranchHiddenState))
	}
	all, first := asm.I32(8192), slices.Concat(asm.I32(atHistory), asm.Load)
	fork := asm.Local(handle)
	return slices.Concat(d.ready(), d.whereKnown(abi.ImportBranchHiddenState, state(asm.Local(root), asm.I32(0)), asm.SetLocal(length),
		d.must("some numbers", asm.I32(0), asm.Local(length), asm.Less), asm.Poke(atHistory, -9),
		d.equal("their number where they do not fit", state(asm.Local(root), slices.Concat(asm.Local(length), asm.I32(1), asm.Subtract)), asm.Local(length)),
		d.is("nothing is written", -9, first),
		d.equal("their number where they fit", state(asm.Local(root), all), asm.Local(length)), first, asm.SetGlobal(kept),
		d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle), asm.Poke(atHistory, -9),
		d.equal("as many of a fork", state(fork, all), asm.Local(length)), d.equal("the same", first, asm.Global(kept)),
		d.adds(fork, 0), d.is("ready", 1, d.waits(0, 0, fork)), d.equal("as many after a token", state(fork, all), asm.Local(length)),
		d.must("but others", first, asm.Global(kept), asm.Equal, asm.EqualZero), d.is("close", 0, d.of(abi.ImportBranchClose, fork))))
}

// forkedRow goes on with a fork of a branch that is ready, which it closes.
func forkedRow(d *draft) []byte {
	return slices.Concat(d.ready(), asm.Global(picked), asm.SetGlobal(kept), d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.Local(root))), asm.Local(handle), asm.SetLocal(root),
		d.best(asm.Local(root)), d.equal("the fork says the same", asm.Global(picked), asm.Global(kept)))
}

// partedBranches has three branches computed at once, of which one then goes back to where they
// parted.
func partedBranches(d *draft) []byte {
	fork := func(tokens int) []byte {
		return slices.Concat(d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle), slices.Repeat(d.adds(asm.Local(handle), 0), tokens))
	}
	return slices.Concat(asm.I32(0), asm.SetGlobal(picked), d.pick(), fork(1), fork(2), d.is("all are ready", 3, d.waits(told, 0, asm.I32(1), asm.I32(2), asm.I32(0))),
		d.best(asm.I32(0)), asm.Global(picked), asm.SetGlobal(kept), asm.I32(2), d.prompt(), d.Call(abi.ImportBranchCut), asm.Drop,
		d.is("the one that was cut is ready again", 1, d.waits(told, 0, asm.I32(2))), d.best(asm.I32(2)), d.equal("and says what the first does", asm.Global(picked), asm.Global(kept)),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))), d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(2))))
}

func scoredTokens(d *draft) []byte {
	const at, place = atHistory, 3
	scores := func(limit int) []byte {
		return slices.Concat(asm.Local(handle), d.prompt(), asm.I32(at), asm.I32(limit), d.Call(abi.ImportBranchScores))
	}
	likely := slices.Concat(asm.I32(atView+4+4*told), asm.Local(place), asm.I32(4), asm.Multiply, asm.Add, asm.LoadF32, number(atView), asm.SubtractF32)
	probability := func(i int) []byte {
		return d.must("a logarithm of a probability", number(at+4*i), asm.F32(0), asm.AtMostF32)
	}
	unknown := func(i int) []byte {
		return d.must("NaN where there is none", number(at+4*i), number(at+4*i), asm.EqualF32, asm.EqualZero)
	}
	return slices.Concat(d.ready(), d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle), d.adds(asm.Local(handle), abi.AppendScored),
		d.is("one after the prompt", 1, scores(1)), d.must("is the candidate's", number(at), likely, asm.EqualF32),
		d.adds(asm.Local(handle), 0), d.adds(asm.Local(handle), abi.AppendScored), d.is("ready", 1, d.waits(0, 0, asm.Local(handle))),
		asm.PokeF(at, 7), d.is("three", 3, scores(2)), d.must("nothing is written where they do not fit", number(at), asm.F32(7), asm.EqualF32),
		d.is("three", 3, scores(3)), d.must("the first is the same", number(at), likely, asm.EqualF32), unknown(1), probability(2),
		d.equal("all", d.of(abi.ImportBranchScores, asm.Local(handle), 0, at, 8192), slices.Concat(d.prompt(), asm.I32(3), asm.Add)), unknown(0),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.Local(handle))))
}

// waitedFor has branches 0, 1 and 2, the last two of them with one and two tokens more than the
// prompt.
func waitedFor(d *draft) []byte {
	listed := func(n int) []byte { return slices.Concat(asm.I32(atList+4*n), asm.Load) }
	fork := func(tokens int) []byte {
		return slices.Concat(d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle), slices.Repeat(d.adds(asm.Local(handle), 0), tokens))
	}
	anyOf := slices.Concat(d.waits(told, abi.WaitAny, asm.I32(2), asm.I32(1), asm.I32(0)), asm.SetGlobal(kept))
	several := slices.Concat(anyOf, d.must("one or more are ready", asm.Global(kept)),
		asm.Each(counter, asm.Global(kept), asm.I32(atList), asm.Local(counter), asm.I32(4), asm.Multiply, asm.Add, asm.Load,
			asm.I32(0), asm.I32(atView), d.Call(abi.ImportBranchCandidates), asm.Drop), asm.Global(kept), asm.I32(3), asm.Less)
	one := slices.Concat(asm.Global(kept), asm.I32(1), asm.Equal, asm.When(d.is("what is ready comes first", 0, listed(0)), d.is("what is not comes last", 1, listed(1))))
	return slices.Concat(d.pick(), fork(1), fork(2), d.is("no branch is none", 0, d.waits(told, 0)), asm.While(several),
		d.is("two", 2, d.waits(told, 0, asm.I32(1), asm.I32(0))), d.is("in the order given", 1, listed(0)), d.is("both", 0, listed(1)),
		d.adds(asm.I32(1), 0), d.waits(told, abi.WaitAny, asm.I32(1), asm.I32(0)), asm.SetGlobal(kept), d.must("any", asm.Global(kept)), one,
		d.is("both", 2, d.waits(told, 0, asm.I32(1), asm.I32(0))))
}
