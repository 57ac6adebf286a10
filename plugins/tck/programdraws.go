// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
	return unchanged("branch_run has a branch go on by itself, as its chain draws", d.runs(d.openPrompt(root), d.is("a chain", 1, d.greedyChain()),
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
	return unchanged("branch_grammar has a branch follow a grammar", d.runs(d.openPrompt(root), d.ready(), asm.Global(picked), asm.SetGlobal(kept),
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
