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

// partedBranches computes three branches at once. One then goes back to where they parted.
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

// drawCases are about rows that are changed, chains that draw from them, and branches that go on
// by themselves.
func drawCases() []Case {
	return []Case{
		writes("branch_mask leaves the row of one branch what it allows, and later forks", "branch-mask", 3, maskedRow),
		writes("branch_mix makes a row the sum of rows", "branch-mix", 2, mixedRow),
		writes("a chain of parameters has a handle, which branch_sample draws with; what cannot be used has a reason", "branch-sample", 1, sampled),
		ranBranch(),
		writes("branch_state tells what became of a branch", "branch-state", 2, states),
		followed(),
		writes("branch_open_messages begins a branch as the model's template does, or says why not", "branch-messages", 2, openedMessages),
	}
}

// maskWords is code that leaves how many words a mask has.
func (d *draft) maskWords() []byte {
	return slices.Concat(d.Call(abi.ImportVocabSize), asm.I32(31), asm.Add, asm.I32(5), asm.ShiftRight)
}

func maskedRow(d *draft) []byte {
	allowed := func(branch, at int) []byte {
		return slices.Concat(d.is("what is left", 1, d.of(abi.ImportBranchCandidates, asm.I32(branch), told, at)),
			d.equal("is what the mask allows", slices.Concat(asm.I32(at+8), asm.Load), asm.Global(kept)),
			d.must("and certain", number(at+4), asm.F32(0.001), asm.AtMostF32),
			d.must("its logarithm is the sum", number(at+8+4*told), number(at), asm.SubtractF32, asm.F32(0.001), asm.AtMostF32))
	}
	return slices.Concat(d.ready(), asm.Global(picked), asm.SetLocal(counter), d.of(abi.ImportBranchFork, asm.Local(root)), asm.Drop,
		asm.I32(0), asm.SetGlobal(picked), d.pick(), asm.Global(picked), asm.SetGlobal(kept), maskBit(asm.Global(kept)),
		d.is("mask", 0, asm.I32(1), asm.I32(atMask), d.maskWords(), d.Call(abi.ImportBranchMask)), allowed(1, atHistory),
		d.is("a fork", 2, d.of(abi.ImportBranchFork, asm.I32(1))), allowed(2, atHistory),
		d.best(asm.Local(root)), d.equal("another row is as it was", asm.Global(picked), asm.Local(counter)),
		d.adds(asm.I32(2), 0), d.is("ready", 1, d.waits(told, 0, asm.I32(2))),
		d.is("the next row is the model's own", told, d.of(abi.ImportBranchCandidates, asm.I32(2), told, atHistory)),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))), d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(2))))
}

func mixedRow(d *draft) []byte {
	entry := func(i, branch int, weight float32) []byte {
		return slices.Concat(asm.Poke(atHistory+8*i, branch), asm.PokeF(atHistory+8*i+4, weight))
	}
	mix := func(n int) []byte {
		return d.is("mix", 0, d.of(abi.ImportBranchMix, asm.I32(1), atHistory, n))
	}
	const of = atHistory + 64
	best := func(what string) []byte {
		return slices.Concat(d.is("candidates", told, d.of(abi.ImportBranchCandidates, asm.I32(1), told, of)),
			d.equal(what+": the best", slices.Concat(asm.I32(of+8), asm.Load), slices.Concat(asm.I32(atView+8), asm.Load)),
			d.must(what+": its logit", number(of+8+4*told), number(atView+8+4*told), asm.EqualF32))
	}
	return slices.Concat(d.ready(), d.of(abi.ImportBranchFork, asm.Local(root)), asm.Drop,
		entry(0, 0, 1), mix(1), best("another row"), entry(0, 0, 0.5), entry(1, 1, 0.5), mix(2), best("two halves"),
		entry(0, 0, 1), entry(1, 1, 0), mix(2), best("a weight of 0"), d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))))
}

// greedyChain is code that opens a chain that takes the most likely token, and leaves its handle.
func (d *draft) greedyChain() []byte {
	return d.say(`{"temperature":0,"samplers":["temperature"]}`, abi.ImportChainOpen)
}

// refusedWithReason is code that wants a call to be refused, and a reason for it.
func (d *draft) refusedWithReason(what string, answer int, code []byte) []byte {
	return slices.Concat(d.is(what, answer, code), d.must("there is a reason", d.call(abi.ImportBranchReason, atHistory, 0)),
		asm.I32(atHistory), asm.I32(0), asm.Store, d.call(abi.ImportBranchReason, atHistory, 4096), asm.Drop, d.must("and it is written", asm.I32(atHistory), asm.Load))
}

func sampled(d *draft) []byte {
	draw := func(chain int) []byte { return d.of(abi.ImportBranchSample, asm.Local(root), chain) }
	return slices.Concat(d.ready(), d.is("the first chain", 1, d.greedyChain()), d.is("the second", 2, d.say(`{"temperature":1.5}`, abi.ImportChainOpen)),
		d.equal("the most likely token", draw(1), asm.Global(picked)), d.equal("and again", draw(1), asm.Global(picked)),
		d.must("a token", draw(2), d.Call(abi.ImportVocabSize), asm.Less), d.must("of the request's own chain", draw(0), d.Call(abi.ImportVocabSize), asm.Less),
		d.refusedWithReason("a parameter that cannot be", abi.BranchRefused, d.say(`{"temperature":-1}`, abi.ImportChainOpen)),
		d.refusedWithReason("what is no JSON", abi.BranchRefused, d.say(`{`, abi.ImportChainOpen)), d.is("the third", 3, d.say(`{}`, abi.ImportChainOpen)))
}

// ranBranch has half of the answer written without the plugin.
func ranBranch() Case {
	const half = MaxTokens / 2
	d := newProgram("branch-run", 1)
	d.Pages = rowPages
	length := slices.Concat(d.of(abi.ImportBranchTokens, asm.Local(root), 0, 0, 0), d.prompt(), asm.Subtract)
	return unchanged("branch_run has a branch go on by itself, as its chain draws", d.runs(d.openPrompt(), d.is("a chain", 1, d.greedyChain()),
		d.is("run", 0, d.of(abi.ImportBranchRun, asm.Local(root), 1, half, abi.AppendScored)), d.is("it goes on", abi.StateRunning, d.of(abi.ImportBranchState, asm.Local(root))),
		d.is("its end is waited for", 1, d.waits(told, 0, asm.Local(root))), d.is("it has come to its end", abi.StateRan, d.of(abi.ImportBranchState, asm.Local(root))),
		d.is("with as many tokens", half, length), d.is("which it gives", half, d.of(abi.ImportBranchTokens, asm.Local(root), -half, atHistory, half)),
		asm.Local(root), d.prompt(), asm.I32(atRow), asm.I32(half), d.Call(abi.ImportBranchScores), asm.SetGlobal(kept),
		d.is("with scores", half, asm.Global(kept)), d.must("a logarithm of a probability", number(atRow), asm.F32(0), asm.AtMostF32),
		d.call(abi.ImportShow, 0, atHistory, 0, half), asm.Drop, d.greedy(MaxTokens-half)))
}

func states(d *draft) []byte {
	is := func(what string, branch, state int) []byte {
		return d.is(what, state, d.of(abi.ImportBranchState, asm.I32(branch)))
	}
	return slices.Concat(is("when it was opened", 0, abi.StatePending), d.ready(), is("when it was waited for", 0, abi.StateReady),
		d.of(abi.ImportBranchFork, asm.Local(root)), asm.Drop, is("a fork of it", 1, abi.StateReady), d.adds(asm.I32(1), 0), is("when a token was appended", 1, abi.StatePending),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))))
}

// followed has a fork follow a grammar for a token, where the host has an engine for it, and then
// no more.
func followed() Case {
	const grammar = 2 // a global
	d := newProgram("branch-grammar", 2)
	at, n := d.note("root ::= [a-z0-9 ]+")
	d.open(d.call(abi.ImportGrammarOpen, abi.GrammarGBNF, at, n), asm.SetGlobal(grammar))
	allowed := func(what string) []byte {
		return d.must(what, d.of(abi.ImportBranchCandidates, asm.I32(1), told, atView))
	}
	leads := slices.Concat(allowed("there are candidates"), asm.I32(atView+8), asm.Load, asm.SetGlobal(picked),
		d.is("which the grammar accepts", 0, asm.Global(grammar), asm.Global(picked), d.Call(abi.ImportGrammarAccept)), d.adds(asm.I32(1), 0),
		d.is("ready", 1, d.waits(told, 0, asm.I32(1))), allowed("and others after it"),
		d.is("no grammar", 0, d.of(abi.ImportBranchGrammar, asm.I32(1), -1)), asm.I32(1), d.prompt(), d.Call(abi.ImportBranchCut), asm.Drop,
		d.is("ready", 1, d.waits(told, 0, asm.I32(1))), d.best(asm.I32(1)), d.equal("then it says what the first does", asm.Global(picked), asm.Global(kept)))
	known := slices.Concat(asm.I32(1), asm.Global(grammar), d.Call(abi.ImportBranchGrammar), asm.EqualZero, asm.When(leads))
	return unchanged("branch_grammar has a branch follow a grammar", d.runs(d.openPrompt(), d.ready(), asm.Global(picked), asm.SetGlobal(kept),
		d.of(abi.ImportBranchFork, asm.Local(root)), asm.Drop, asm.Global(grammar), asm.I32(-1), asm.Equal, asm.EqualZero, asm.When(known),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))), d.greedy(MaxTokens)))
}

func openedMessages(d *draft) []byte {
	open := func(text string) []byte { return d.say(text, abi.ImportBranchOpenMessages) }
	known := slices.Concat(d.must("a handle", asm.Local(handle), asm.I32(1), asm.Equal), d.must("it has tokens", d.of(abi.ImportBranchTokens, asm.Local(handle), 0, 0, 0)),
		d.is("and is ready", 1, d.waits(0, 0, asm.Local(handle))), d.is("close", 0, d.of(abi.ImportBranchClose, asm.Local(handle))),
		d.refusedWithReason("what is no list of messages", abi.BranchRefused, open(`{"role":`)))
	unknown := d.refusedWithReason("a host without a template", abi.BranchCannot, open(`[]`))
	return slices.Concat(open(`[{"role":"user","content":"Hi"}]`), asm.SetLocal(handle), asm.Local(handle), asm.I32(abi.BranchCannot), asm.Equal, asm.When(unknown),
		asm.Local(handle), asm.I32(abi.BranchCannot), asm.Equal, asm.EqualZero, asm.When(known))
}
