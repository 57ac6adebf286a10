// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// endlessPrograms do something again and again, for as long as they may: what fuel is renewed for
// must cost something that is bounded.
func endlessPrograms() []Case {
	forever := func(name, rule string, code func(d *draft) []byte) Case {
		return breaks("forever-"+name, rule+" for ever", causeFuel, func(d *draft) []byte { return asm.Loop(code(d)) })
	}
	after := func(name, rule string, before, code func(d *draft) []byte) Case {
		return breaks("forever-"+name, rule+" for ever", causeFuel, func(d *draft) []byte { return slices.Concat(before(d), asm.Loop(code(d))) })
	}
	ready := func(d *draft) []byte { return append(d.waits(1, 0, asm.Local(root)), asm.Drop...) }
	fork := func(d *draft) []byte {
		return append(d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle)...)
	}
	closes := func(d *draft) []byte { return append(d.of(abi.ImportBranchClose, asm.Local(handle)), asm.Drop...) }
	waits := func(d *draft) []byte { return append(d.waits(1, 0, asm.Local(handle)), asm.Drop...) }
	back := func(d *draft) []byte { // leaves the fork the prompt
		return slices.Concat(asm.Local(handle), d.prompt(), d.Call(abi.ImportBranchCut), asm.Drop)
	}
	long := func(d *draft) []byte { // branch 1 has 200 tokens more than the prompt
		return slices.Concat(fork(d), d.of(abi.ImportBranchAppend, asm.Local(handle), atRow, 200, 0), asm.Drop)
	}
	rising := func(code ...[]byte) []byte { // global 1 counts up to 4,096, again and again
		return slices.Concat(count(kept), asm.Global(kept), asm.I32(abi.LimitCandidates-1), asm.And, asm.SetGlobal(kept), slices.Concat(code...))
	}
	return []Case{
		forever("fork", "a fork bomb", func(d *draft) []byte { return append(d.of(abi.ImportBranchFork, asm.Local(root)), asm.Drop...) }),
		forever("open", "opening", func(d *draft) []byte { return append(d.call(abi.ImportBranchOpen, 0, 0), asm.Drop...) }),
		forever("fork-close", "forking and closing", func(d *draft) []byte { return slices.Concat(fork(d), closes(d)) }),
		forever("wait-none", "waiting for nothing", func(d *draft) []byte { return append(d.waits(0, 0), asm.Drop...) }),
		after("wait-ready", "waiting for what is ready", ready, ready),
		forever("rows-of-forks", "the row of a fork", func(d *draft) []byte { return slices.Concat(fork(d), waits(d), closes(d)) }),
		after("rows-of-cuts", "the row before the last token", func(d *draft) []byte {
			return append(d.of(abi.ImportBranchAppend, asm.Local(root), atRow, 1, 0), asm.Drop...)
		},
			func(d *draft) []byte { return slices.Concat(fork(d), back(d), waits(d), closes(d)) }),
		forever("append", "appending and taking back", func(d *draft) []byte {
			return slices.Concat(d.of(abi.ImportBranchAppend, asm.Local(root), atRow, 100, 0), asm.Drop, d.of(abi.ImportBranchCut, asm.Local(root), 1), asm.Drop)
		}),
		forever("run", "going on", func(d *draft) []byte {
			return slices.Concat(ready(d), asm.I32(1), asm.SetGlobal(picked), d.adds(asm.Local(root), 0))
		}),
		after("wait-any", "waiting for any, of which one is ready", func(d *draft) []byte { return slices.Concat(ready(d), long(d)) }, func(d *draft) []byte {
			return slices.Concat(d.waits(1, abi.WaitAny, asm.Local(root), asm.Local(handle)), asm.Drop)
		}),
		after("logits", "reading rows", ready, func(d *draft) []byte {
			return slices.Concat(asm.Local(root), asm.I32(atRow), d.Call(abi.ImportVocabSize), d.Call(abi.ImportBranchLogits), asm.Drop)
		}),
		after("states", "reading hidden states", ready, func(d *draft) []byte {
			return append(d.of(abi.ImportBranchHiddenState, asm.Local(root), atRow, 8192), asm.Drop...)
		}),
		after("candidates", "one candidate more", ready, func(d *draft) []byte {
			return rising(asm.Local(root), asm.Global(kept), asm.I32(atRow), d.Call(abi.ImportBranchCandidates), asm.Drop)
		}),
		after("wait-candidates", "a wait for one candidate more", ready, func(d *draft) []byte {
			return rising(asm.I32(atList), asm.I32(1), asm.Global(kept), asm.I32(0), d.Call(abi.ImportBranchesWait), asm.Drop)
		}),
		after("tokens", "reading tokens", long, func(d *draft) []byte {
			return append(d.of(abi.ImportBranchTokens, asm.Local(handle), 0, atRow, 8192), asm.Drop...)
		}),
		after("scores", "reading scores", long, func(d *draft) []byte {
			return append(d.of(abi.ImportBranchScores, asm.Local(handle), 0, atRow, 8192), asm.Drop...)
		}),
		after("unwaited", "branches that are never waited for, and thinking", long, func(*draft) []byte { return nil }),
		forever("run-fork", "forks that go on by themselves", func(d *draft) []byte {
			return slices.Concat(fork(d), d.of(abi.ImportBranchRun, asm.Local(handle), 0, 1, 0), asm.Drop, waits(d), closes(d))
		}),
		forever("run-closed", "runs that are closed", func(d *draft) []byte {
			return slices.Concat(fork(d), d.of(abi.ImportBranchRun, asm.Local(handle), 0, 100, 0), asm.Drop, d.waits(0, 0), asm.Drop, closes(d))
		}),
		after("run-row", "a run from a row", ready, func(d *draft) []byte {
			return slices.Concat(fork(d), d.of(abi.ImportBranchRun, asm.Local(handle), 0, 2, 0), asm.Drop, waits(d), closes(d))
		}),
		after("sample", "drawing", ready, func(d *draft) []byte { return append(d.of(abi.ImportBranchSample, asm.Local(root), 0), asm.Drop...) }),
		after("mask", "masking", ready, func(d *draft) []byte {
			return slices.Concat(asm.Local(root), asm.I32(atMask), d.maskWords(), d.Call(abi.ImportBranchMask), asm.Drop)
		}),
		after("mix", "mixing", ready, func(d *draft) []byte {
			return slices.Concat(asm.PokeF(atHistory+4, 1), d.of(abi.ImportBranchMix, asm.Local(root), atHistory, 1), asm.Drop)
		}),
		forever("chain", "chains", func(d *draft) []byte { return append(d.say(`{"temperature":1}`, abi.ImportChainOpen), asm.Drop...) }),
		forever("messages", "templates", func(d *draft) []byte {
			return append(d.say(`[{"role":"user","content":"Hi"}]`, abi.ImportBranchOpenMessages), asm.Drop...)
		}),
		forever("show-nothing", "showing nothing", func(d *draft) []byte { return append(d.call(abi.ImportShow, 0, 0, 0, 0), asm.Drop...) }),
	}
}

// endedPrograms come to a sudden end, with branches at work.
func endedPrograms() []Case {
	after := func(name, rule, cause string, code func(d *draft) []byte) Case {
		return breaks(name, rule, cause, func(d *draft) []byte {
			return slices.Concat(asm.I32(1), asm.SetGlobal(picked), d.waits(1, 0, asm.Local(root)), asm.Drop, d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle),
				d.adds(asm.Local(handle), abi.AppendScored), d.waits(1, abi.WaitAny, asm.Local(root), asm.Local(handle)), asm.Drop, d.shows(), code(d))
		})
	}
	self := 0
	deep := newProgram("run-recursion", 1)
	wait := append(deep.waits(0, 0), asm.Drop...)
	self = len(deep.Imports) + len(deep.Funcs)
	deep.Function(abi.Signature{Name: abi.ExportRun, Results: []abi.Type{"i32"}}, abi.LimitLocals-1000, wait, asm.CallFunction(self))
	return []Case{
		after("run-traps", "a trap after a wait", causeTrap, func(*draft) []byte { return asm.Unreachable }),
		after("run-spins", "thinking for ever after a wait", causeFuel, func(*draft) []byte { return asm.Forever }),
		after("run-exits", "exiting after a wait", causeExit, func(d *draft) []byte { return d.system("proc_exit", "i", asm.I32(0)) }),
		after("run-grows", "growing memory for ever", causeFuel, func(*draft) []byte { return asm.Loop(asm.I32(1), asm.GrowMemory, asm.Drop) }),
		after("run-pending-row", "a row that was not waited for", causeCall, func(d *draft) []byte {
			return slices.Concat(d.adds(asm.Local(handle), 0), d.of(abi.ImportBranchCandidates, asm.Local(handle), 1, atView), asm.Drop)
		}),
		after("run-pending-logits", "logits that were not waited for", causeCall, func(d *draft) []byte {
			return slices.Concat(d.adds(asm.Local(handle), 0), d.of(abi.ImportBranchLogits, asm.Local(handle), atRow, 0), asm.Drop)
		}),
		after("run-pending-state", "a hidden state that was not waited for", causeCall, func(d *draft) []byte {
			return slices.Concat(d.adds(asm.Local(handle), 0), d.of(abi.ImportBranchHiddenState, asm.Local(handle), atRow, 0), asm.Drop)
		}),
		after("run-pending-score", "a score that was not waited for", causeCall, func(d *draft) []byte {
			return slices.Concat(d.waits(1, 0, asm.Local(handle)), asm.Drop, d.adds(asm.Local(handle), 0), d.adds(asm.Local(handle), abi.AppendScored),
				d.of(abi.ImportBranchScores, asm.Local(handle), 0, atRow, 8192), asm.Drop)
		}),
		faulted("recursion without end, with a wait in each", abi.ExportRun, causeStack, deep),
	}
}

// misplacedCalls call the functions of programs where there is none.
func misplacedCalls() []Case {
	var cases []Case
	for _, s := range abi.Imports {
		if !slices.Contains(s.In, abi.ExportRun) {
			continue
		}
		in := newProgram("open-"+s.Name, 1).runs()
		token := newDraft("elsewhere-"+s.Name, "")
		cases = append(cases, faulted(s.Name+" before the program", abi.ExportOpen, causeCall, in.open(in.zeros(s.Name, 0), asm.Drop)),
			faulted(s.Name+" in a plugin that is none", abi.ExportAccept, causeCall, token.on(abi.ExportAccept, token.zeros(s.Name, 0), asm.Drop, asm.I32(0))))
	}
	return cases
}
