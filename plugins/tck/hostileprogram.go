// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// breaks is a case of a program that must fault. It may have three branches, and the root is open.
func breaks(name, rule, cause string, code func(d *draft) []byte) Case {
	d := newProgram(name, 3)
	d.Pages = rowPages
	return faulted(rule, abi.ExportRun, cause, d.runs(d.openPrompt(), code(d)))
}

// hostilePrograms are programs that break the rules of branches, or try to take more than is
// theirs.
func hostilePrograms() []Case {
	return slices.Concat(strangeHandles(), strangeNumbers(), whileRunning(), endlessPrograms(), endedPrograms(), misplacedCalls())
}

// strangeHandles name branches that there are not.
func strangeHandles() []Case {
	var cases []Case
	closed := func(d *draft) []byte {
		return slices.Concat(d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle), d.of(abi.ImportBranchClose, asm.Local(handle)), asm.Drop)
	}
	for _, s := range abi.Imports {
		if !takesBranch(s.Name) {
			continue
		}
		for name, n := range map[string]int{"closed": 1, "foreign": 77, "negative": -1} {
			cases = append(cases, breaks(fmt.Sprintf("%s-%s", name, s.Name), fmt.Sprintf("a handle that is %s in %s", name, s.Name), causeCall, func(d *draft) []byte {
				return slices.Concat(closed(d), d.zeros(s.Name, n), asm.Drop)
			}))
		}
	}
	waits := func(name string, handles ...int) Case {
		return breaks("wait-"+name, "waiting for a handle that is "+name, causeCall, func(d *draft) []byte {
			var list [][]byte
			for _, h := range handles {
				list = append(list, asm.I32(h))
			}
			return slices.Concat(closed(d), d.waits(0, abi.WaitAny, list...), asm.Drop)
		})
	}
	return append(cases, waits("closed", 0, 1), waits("foreign", 0, 77), waits("negative", -1))
}

// takesBranch reports whether the first parameter of an import is a branch.
func takesBranch(name string) bool {
	s := abi.Import(name)
	return strings.HasPrefix(name, "branch_") && !slices.ContainsFunc(s.Memory, func(m abi.Memory) bool { return m.At == 0 })
}

// zeros is code that calls a function with a first parameter, and zeros for the rest.
func (d *draft) zeros(function string, first int) []byte {
	args := make([]int, max(1, len(abi.Import(function).Params)))
	args[0] = first
	return d.call(function, args...)
}

// strangeNumbers are counts, places and values that cannot be.
func strangeNumbers() []Case {
	calls := func(name, rule, cause, function string, args ...int) Case {
		return breaks(name, rule, cause, func(d *draft) []byte {
			return slices.Concat(d.is("ready", 1, d.waits(0, 0, asm.Local(root))), d.call(function, args...), asm.Drop)
		})
	}
	return []Case{
		calls("wait-many", "waiting for more than there may be", causeCall, abi.ImportBranchesWait, atList, 4, 0, 0),
		calls("wait-all", "waiting for 4,294,967,295 branches", causeCall, abi.ImportBranchesWait, atList, -1, 0, 0),
		calls("wait-candidates", "more candidates than the limit", causeCall, abi.ImportBranchesWait, atList, 1, abi.LimitCandidates+1, 0),
		calls("wait-flags", "an unknown flag of a wait", causeCall, abi.ImportBranchesWait, atList, 1, 0, 2),
		calls("candidates-many", "more candidates than the limit", causeCall, abi.ImportBranchCandidates, root, abi.LimitCandidates+1, atRow),
		calls("candidates-all", "4,294,967,295 candidates", causeCall, abi.ImportBranchCandidates, root, -1, atRow),
		calls("scores-beyond", "scores behind the end", causeCall, abi.ImportBranchScores, root, 1<<30, atRow, 1),
		calls("append-flags", "an unknown flag of an append", causeCall, abi.ImportBranchAppend, root, 0, 0, 2),
		calls("cut-none", "a branch cut to nothing", causeCall, abi.ImportBranchCut, root, 0),
		calls("cut-beyond", "a branch cut to more than it has", causeCall, abi.ImportBranchCut, root, -1),
		calls("show-choice", "showing of a choice that there is not", causeCall, abi.ImportShow, 1, 0, 0, 0),
		calls("show-choice-negative", "showing of the choice −1", causeCall, abi.ImportShow, -1, 0, 0, 0),
		calls("mask-words", "a mask of too few words", causeCall, abi.ImportBranchMask, root, atMask, 0),
		calls("mask-wraps", "a mask of 1,073,741,825 words", "", abi.ImportBranchMask, root, 0, 1<<30+1),
		calls("mix-none", "a sum of no rows", causeCall, abi.ImportBranchMix, root, atHistory, 0),
		calls("mix-many", "a sum of more rows than there may be", causeCall, abi.ImportBranchMix, root, atHistory, abi.LimitBranches+1),
		calls("mix-wraps", "a sum of 536,870,913 rows", causeCall, abi.ImportBranchMix, root, 0, 1<<29+1),
		mixed("mix-foreign", "a sum with a foreign branch", 77, 1), mixed("mix-nan", "a weight that is no number", 0, notANumber),
		mixed("mix-infinite", "an infinite weight", 0, infinite), mixed("mix-pending", "a sum with a row that was not waited for", 1, 1),
		calls("chain-all", "4,294,967,295 bytes of parameters", "", abi.ImportChainOpen, 0, -1),
		calls("messages-all", "4,294,967,295 bytes of messages", "", abi.ImportBranchOpenMessages, 0, -1),
		calls("grammar-foreign", "a grammar that there is not", causeCall, abi.ImportBranchGrammar, root, 77),
		calls("grammar-negative", "the grammar −2", causeCall, abi.ImportBranchGrammar, root, -2),
		calls("adopt-choice", "adopting a choice that there is not", causeCall, abi.ImportAdopt, 1, root, 1),
		calls("adopt-choice-negative", "adopting the choice −1", causeCall, abi.ImportAdopt, -1, root, 1),
		calls("adopt-foreign", "adopting a foreign branch", causeCall, abi.ImportAdopt, 0, 77, 1),
		calls("adopt-nothing", "an answer without a prompt", causeCall, abi.ImportAdopt, 0, root, 0),
		calls("adopt-beyond", "a prompt that is longer than the branch", causeCall, abi.ImportAdopt, 0, root, 1<<30),
		breaks("adopt-twice", "adopting a choice twice", causeCall, func(d *draft) []byte {
			adopt := slices.Concat(asm.I32(0), asm.Local(root), d.prompt(), d.Call(abi.ImportAdopt), asm.Drop)
			return slices.Concat(adopt, adopt)
		}),
		calls("sample-foreign-chain", "a chain that there is not", causeCall, abi.ImportBranchSample, root, 65),
		calls("sample-negative-chain", "the chain −1", causeCall, abi.ImportBranchSample, root, -1),
		calls("run-none", "a run of no tokens", causeCall, abi.ImportBranchRun, root, 0, 0, 0),
		calls("run-less", "a run of −1 tokens", causeCall, abi.ImportBranchRun, root, 0, -1, 0),
		calls("run-flags", "an unknown flag of a run", causeCall, abi.ImportBranchRun, root, 0, 1, 2),
		breaks("open-no-token", "a branch of what is no token", causeCall, func(d *draft) []byte {
			return slices.Concat(asm.Poke(atList, -1), d.call(abi.ImportBranchOpen, atList, 1), asm.Drop)
		}),
		breaks("append-no-token", "what is no token is appended", causeCall, func(d *draft) []byte {
			return slices.Concat(asm.Poke(atList, -1), d.of(abi.ImportBranchAppend, asm.Local(root), atList, 1, 0), asm.Drop)
		}),
		breaks("append-least-token", "the number −2,147,483,648 is appended", causeCall, func(d *draft) []byte {
			return slices.Concat(asm.Poke(atList, math.MinInt32), d.of(abi.ImportBranchAppend, asm.Local(root), atList, 1, 0), asm.Drop)
		}),
		shownFault("show-no-token", "what is no token", asm.Poke(atShown, -1)),
		shownFault("show-likely", "a log-probability above 0", asm.PokeF(atLogs, 1)),
		shownFault("show-nan", "a log-probability that is no number", asm.PokeF(atLogs, notANumber)),
	}
}

// mixed has a sum of two rows, the second with a branch and a weight; branch 1 has no row.
func mixed(name, rule string, branch int, weight float32) Case {
	return breaks(name, rule, causeCall, func(d *draft) []byte {
		return slices.Concat(asm.I32(1), asm.SetGlobal(picked), d.waits(1, 0, asm.Local(root)), asm.Drop, d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle),
			d.adds(asm.Local(handle), 0), asm.Poke(atHistory, 0), asm.PokeF(atHistory+4, 1), asm.Poke(atHistory+8, branch), asm.PokeF(atHistory+12, weight),
			d.of(abi.ImportBranchMix, asm.Local(root), atHistory, 2), asm.Drop)
	})
}

// whileRunning does what may not be done with a branch that goes on by itself.
func whileRunning() []Case {
	var cases []Case
	for _, name := range []string{abi.ImportBranchFork, abi.ImportBranchCut, abi.ImportBranchAppend, abi.ImportBranchTokens, abi.ImportBranchCandidates, abi.ImportBranchLogits,
		abi.ImportBranchHiddenState, abi.ImportBranchScores, abi.ImportBranchSample} {
		cases = append(cases, breaks("running-"+name, name+" of a branch that goes on by itself", causeCall, func(d *draft) []byte {
			return slices.Concat(d.of(abi.ImportBranchRun, asm.Local(root), 0, 100, 0), asm.Drop, d.zeros(name, 0), asm.Drop)
		}))
	}
	return cases
}

// shownFault shows a token and its log-probability, which code makes impossible.
func shownFault(name, rule string, code []byte) Case {
	return breaks(name, "showing "+rule, causeCall, func(d *draft) []byte {
		return slices.Concat(asm.Poke(atShown, 1), asm.PokeF(atLogs, -1), code, d.call(abi.ImportShow, 0, atShown, atLogs, 1), asm.Drop)
	})
}

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
