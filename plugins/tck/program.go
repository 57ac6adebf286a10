// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Where programs keep things, besides the places of drafts.
const (
	atList  = atScratch      // handles for branches_wait, or tokens
	atShown = atScratch + 64 // a token
	atLogs  = atSplice       // log-probabilities
	told    = 8              // candidates that the greedy program asks for: the best of them that ends no answer is shown
)

// Locals and globals of programs; the first global is what a draft picked.
const (
	root    = 0 // a local: the branch that the greedy program goes on with
	counter = 1 // a local that counts
	handle  = 2 // a local
	kept    = 1 // a global
)

// newProgram begins a plugin that is a program with a number of branches. A host without programs
// ignores the export, and answers as without it.
func newProgram(name string, branches int) *draft {
	return newDraft(name, fmt.Sprintf(`"branches":%d,"optional":[%q],`, branches, abi.ExportRun))
}

// runs adds the program: code, and the end of its answer.
func (d *draft) runs(code ...[]byte) *draft { return d.on(abi.ExportRun, append(code, asm.I32(0))...) }

// openPrompt is code that opens a branch with the prompt; the local root has its handle.
func (d *draft) openPrompt() []byte {
	return slices.Concat(d.call(abi.ImportBranchOpen, 0, 0), asm.SetLocal(root))
}

// of is code that calls a function of a branch, whose handle comes first.
func (d *draft) of(function string, branch []byte, args ...int) []byte {
	code := branch
	for _, a := range args {
		code = slices.Concat(code, asm.I32(a))
	}
	return append(slices.Clone(code), d.Call(function)...)
}

// waits is code that waits for branches, and leaves how many have their row.
func (d *draft) waits(k, flags int, branches ...[]byte) []byte {
	var code []byte
	for i, b := range branches {
		code = slices.Concat(code, asm.I32(atList+4*i), b, asm.Store)
	}
	return slices.Concat(code, d.call(abi.ImportBranchesWait, atList, len(branches), k, flags))
}

// best is code that finds the most likely token after a branch that ends no answer, into the
// global of what was picked; it uses local 3.
func (d *draft) best(branch []byte) []byte {
	const place = 3
	next := slices.Concat(asm.I32(atView+8), asm.Local(place), asm.I32(4), asm.Multiply, asm.Add, asm.Load, asm.SetGlobal(picked),
		asm.Local(place), asm.I32(1), asm.Add, asm.SetLocal(place))
	return slices.Concat(d.of(abi.ImportBranchCandidates, branch, told, atView), asm.Drop, asm.I32(0), asm.SetLocal(place),
		asm.While(next, asm.Global(picked), d.Call(abi.ImportTokenAttr), asm.I32(abi.AttrEnd), asm.And))
}

// adds is code that adds what was picked to a branch.
func (d *draft) adds(branch []byte, flags int) []byte {
	return slices.Concat(asm.I32(atShown), asm.Global(picked), asm.Store, d.of(abi.ImportBranchAppend, branch, atShown, 1, flags), asm.Drop)
}

// shows is code that shows what was picked.
func (d *draft) shows() []byte {
	return slices.Concat(asm.I32(atShown), asm.Global(picked), asm.Store, d.call(abi.ImportShow, 0, atShown, 0, 1), asm.Drop)
}

// greedy is code that shows the next tokens of the answer that a request without the program gets,
// from the root branch on. The answer's last token ends it.
func (d *draft) greedy(tokens int) []byte {
	wait := d.is("the branch that was waited for is ready", 1, d.waits(told, 0, asm.Local(root)))
	return asm.Each(counter, asm.I32(tokens), wait, d.best(asm.Local(root)), d.shows(), d.adds(asm.Local(root), 0))
}

// writes is a case of one program, which checks something, and then writes what the request
// without it gets.
func writes(rule, name string, branches int, checks func(d *draft) []byte) Case {
	d := newProgram(name, branches)
	return unchanged(rule, d.runs(d.openPrompt(), checks(d), d.greedy(MaxTokens)))
}

// programCases are about programs and their branches.
func programCases() []Case {
	return slices.Concat(runCases(), drawCases(), []Case{
		writes("a handle is used once, and a closed branch's place is free at once", "branch-handles", 2, handles),
		writes("branch_tokens gives a branch's tokens as history does, and append, cut and fork change them", "branch-tokens", 2, branchTokens),
		writes("branch_append and branch_open tell when there is no room", "branch-full", 2, fullBranches),
		spends("tokens that are put into branches are bounded"),
		writes("branch_candidates gives the best, best first, with what they are measured by", "branch-candidates", 1, bestCandidates),
		writes("branch_logits gives the whole row, where it fits", "branch-logits", 1, wholeRow),
		writes("branch_hidden_state is what is behind the row, where it fits", "branch-hidden-state", 2, stateOfBranch),
		writes("a fork has the row of its branch, which stays when that is closed, and needs no wait", "branch-fork", 2, forkedRow),
		writes("branches go on from a common beginning, each in its own way", "branch-apart", 3, partedBranches),
		writes("branch_scores are log-probabilities of the tokens that are to have them, and NaN of others", "branch-scores", 2, scoredTokens),
		writes("branches_wait lists what is ready first, and without a branch it returns", "branches-wait", 3, waitedFor),
	})
}

func handles(d *draft) []byte {
	open := d.call(abi.ImportBranchOpen, 0, 0)
	closes := func(n int) []byte {
		return d.is("closing", 0, d.of(abi.ImportBranchClose, asm.I32(n)))
	}
	return slices.Concat(
		d.is("the first handle", 0, asm.Local(root)),
		asm.Poke(atList, 1), d.is("the second", 1, d.call(abi.ImportBranchOpen, atList, 1)),
		d.is("no third branch of two", abi.BranchNoneFree, open), d.is("and no fork", abi.BranchNoneFree, d.of(abi.ImportBranchFork, asm.I32(0))),
		closes(1), d.is("the place is free, under a new handle", 2, d.of(abi.ImportBranchFork, asm.I32(0))), closes(2), d.is("and again", 3, open), closes(3))
}

func branchTokens(d *draft) []byte {
	at := func(n int) []byte { return slices.Concat(asm.I32(atHistory+4*n), asm.Load) }
	part := func(from, limit int) []byte {
		return d.of(abi.ImportBranchTokens, asm.Local(root), from, atHistory, limit)
	}
	return slices.Concat(d.pick(),
		d.equal("the prompt's tokens", part(0, 8192), d.history()), d.equal("param tells how many", part(0, 0), d.prompt()),
		at(0), asm.SetGlobal(kept), d.call(abi.ImportHistory, 0, atHistory, 8192), asm.Drop, d.equal("the first of them", at(0), asm.Global(kept)),
		asm.Poke(atHistory, -9), d.is("as many from the end", 1, part(-1, 0)), d.is("nothing is written where it does not fit", -9, at(0)),
		d.is("none behind the end", 0, part(1<<31-1, 8)), d.equal("all where there are not as many", part(-1<<31, 0), d.history()),
		d.equal("a fork has them", d.of(abi.ImportBranchFork, asm.Local(root)), asm.I32(1)),
		asm.I32(atShown), asm.Global(picked), asm.Store,
		d.equal("append tells how many there are", d.of(abi.ImportBranchAppend, asm.I32(1), atShown, 1, 0), slices.Concat(d.prompt(), asm.I32(1), asm.Add)),
		d.is("the last of them", 1, d.of(abi.ImportBranchTokens, asm.I32(1), -1, atHistory, 1)), d.equal("is what was added", at(0), asm.Global(picked)),
		d.equal("the fork alone has it", part(0, 0), d.prompt()),
		d.is("no token is added", 0, d.of(abi.ImportBranchAppend, asm.I32(1), 0, 0, 0), d.prompt(), asm.Subtract, asm.I32(1), asm.Subtract),
		d.is("cut", 0, d.of(abi.ImportBranchCut, asm.I32(1), 1)), d.is("leaves as many", 1, d.of(abi.ImportBranchTokens, asm.I32(1), 0, 0, 0)),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1))))
}

// fullBranches adds more tokens than the context has to a branch, whose tokens stay as they were.
func fullBranches(d *draft) []byte {
	d.Pages = 64
	const most = 32 << 16 / 4 // tokens that memory has room for, past the notes
	size := slices.Concat(d.call(abi.ImportParam, abi.ParamContextSize), asm.Wrap)
	fits := slices.Concat(size, asm.I32(most), asm.Less)
	return slices.Concat(fits, asm.When(
		d.is("append", abi.BranchContextFull, asm.Local(root), asm.I32(atRow), size, asm.I32(0), d.Call(abi.ImportBranchAppend)),
		d.equal("and nothing was added", d.of(abi.ImportBranchTokens, asm.Local(root), 0, 0, 0), d.prompt()),
		d.is("open", abi.BranchContextFull, asm.I32(atRow), size, asm.I32(1), asm.Add, d.Call(abi.ImportBranchOpen)),
		d.is("whose place stays free", 1, d.of(abi.ImportBranchFork, asm.Local(root))), d.is("close", 0, d.of(abi.ImportBranchClose, asm.I32(1)))))
}

// spends is a program that, once it has shown all, adds tokens to a fork and takes them back for
// as long as it may.
func spends(rule string) Case {
	d := newProgram("branch-budget", 2)
	d.Pages = 64
	answer := slices.Concat(d.of(abi.ImportBranchAppend, asm.Local(handle), atRow, 16, 0), asm.SetGlobal(kept), asm.Global(kept))
	again := slices.Concat(d.of(abi.ImportBranchCut, asm.Local(handle), 1), asm.Drop, answer, asm.I32(31), asm.ShiftRight, asm.EqualZero)
	return unchanged(rule, d.runs(d.openPrompt(), d.greedy(MaxTokens), d.of(abi.ImportBranchFork, asm.Local(root)), asm.SetLocal(handle),
		asm.While(again), d.is("it ends with", abi.BranchBudget, asm.Global(kept))))
}

// runCases are about penstock_run itself: how it shows an answer and ends it, and what goes with
// it.
func runCases() []Case {
	written := func(name string, d *draft) *draft { // a whole answer
		if d == nil {
			d = newProgram(name, 1)
		}
		return d.runs(d.openPrompt(), d.greedy(MaxTokens))
	}
	early := newProgram("run-early", 1)
	ended := newProgram("run-ended", 1)
	refusal := newProgram("run-refuses", 1)
	counts := newDraft("beside-run", "")
	counts.on(abi.ExportAccept, count(kept), counts.equal("accepted since the prompt", asm.Global(kept), counts.generated()), asm.I32(0))
	stops := newDraft("stops-run", "")
	stops.open(stops.bind(abi.BufferText)).on(abi.ExportStop, stops.generated(), asm.I32(3), asm.Equal)
	asked := newProgram("run-features", 1)
	return []Case{
		unchanged("an adopted branch goes on as an ordinary answer", adopts("adopt", 3)),
		unchanged("and so does one of which nothing was shown", adopts("adopt-at-once", 0)),
		unchanged("a program that shows what the model says after its branch writes what a request without it gets", written("run", nil)),
		unchanged("feature knows programs, and each of their functions", written("", asked.open(knowsPrograms(asked)))),
		unchanged("tokens may be shown together, with log-probabilities", showsTogether()),
		build("0 ends the answer with what was shown", Want{Outcome: Answered, Tokens: 3, Reason: "stop", Text: Prefix},
			early.runs(early.openPrompt(), early.greedy(3))),
		build("a program that shows nothing gives an empty answer", Want{Outcome: Answered, Reason: "stop", Text: Empty}, newProgram("run-nothing", 1).runs()),
		unchanged("what ends the answer ends the program", ended.runs(ended.openPrompt(), ended.greedy(MaxTokens), ended.waits(0, 0), asm.Unreachable)),
		declined("anything but 0 is a refusal, in the plugin's own words", "no, thank you",
			refusal.on(abi.ExportRun, refusal.say("no, thank you", abi.ImportFail), asm.I32(1))),
		answered("draws depend on the seed, and differ from each other and after each wait", drawsInRun()),
		unchanged("other plugins are told of what is shown", counts, written("run-told", nil)),
		stopped("and may end the answer", 3, Prefix, stops, written("run-stopped", nil)),
		unchanged("a configuration may ask for fewer branches than the manifest has", fewerBranches()).in(Request{Config: `{"n":2}`}),
		declined("a request has one program", "both", written("run-one", nil), written("run-other", nil)),
		declined("a program has no more branches than the server has slots", "branches", written("", newProgram("run-64", 64))),
	}
}

// adopts is a program that shows some tokens and then lets the answer go on from its branch.
func adopts(name string, tokens int) *draft {
	d := newProgram(name, 1)
	return d.runs(d.openPrompt(), d.greedy(tokens), d.is("adopt", 0, asm.I32(0), asm.Local(root), d.prompt(), d.Call(abi.ImportAdopt)),
		d.is("close", 0, d.of(abi.ImportBranchClose, asm.Local(root))))
}

func knowsPrograms(d *draft) []byte {
	code := d.is("feature branches", 1, d.say(abi.FeatureBranches, abi.ImportFeature))
	for _, s := range abi.Imports {
		if strings.HasPrefix(s.Name, "branch") {
			code = slices.Concat(code, d.is("feature "+s.Name, 1, d.say(s.Name, abi.ImportFeature)))
		}
	}
	return d.whereKnown(abi.ExportRun, code)
}

// showsTogether keeps the answer until it has all of it.
func showsTogether() *draft {
	d := newProgram("show-together", 1)
	code := d.openPrompt()
	for i := range MaxTokens {
		code = slices.Concat(code, d.is("it is ready", 1, d.waits(told, 0, asm.Local(root))), d.best(asm.Local(root)), d.adds(asm.Local(root), 0),
			asm.I32(atHistory+4*i), asm.Global(picked), asm.Store, asm.PokeF(atLogs+4*i, -1))
	}
	return d.runs(code, d.is("show none", 0, d.call(abi.ImportShow, 0, 0, 0, 0)), d.is("show", 0, d.call(abi.ImportShow, 0, atHistory, 0, 2)),
		d.is("show with log-probabilities", 0, d.call(abi.ImportShow, 0, atHistory+8, atLogs+8, MaxTokens-2)))
}

// drawsInRun shows candidates that it draws.
func drawsInRun() *draft {
	const last = 2 // a global
	d := newProgram("run-random", 1)
	draw := d.Call(abi.ImportRandom)
	drawn := slices.Concat(draw, asm.Wrap, asm.SetGlobal(last), d.must("two draws differ", draw, draw, asm.Equal64, asm.EqualZero),
		d.must("and those before and after a wait", draw, asm.Wrap, asm.Global(last), asm.Equal, asm.EqualZero),
		asm.Global(last), asm.I32(told), asm.Remainder, asm.I32(4), asm.Multiply, asm.I32(atView+8), asm.Add, asm.Load, asm.SetGlobal(picked))
	return d.runs(d.openPrompt(), asm.Each(counter, asm.I32(MaxTokens), d.waits(told, 0, asm.Local(root)), asm.Drop, d.best(asm.Local(root)),
		drawn, d.shows(), d.adds(asm.Local(root), 0)))
}

// fewerBranches has as many branches as it is configured for, two of four.
func fewerBranches() *draft {
	d := newDraft("run-fewer", fmt.Sprintf(`"branches":4,"branches_config":"n","config_schema":{"properties":{"n":{"type":"integer"}}},"optional":[%q],`, abi.ExportRun))
	return d.runs(d.openPrompt(), d.is("a second branch", 1, d.of(abi.ImportBranchFork, asm.Local(root))),
		d.is("no third", abi.BranchNoneFree, d.of(abi.ImportBranchFork, asm.Local(root))), d.greedy(MaxTokens))
}

// halfPrograms are modules that a host must refuse: what they export and what their manifests say
// does not go together.
func halfPrograms() []Case {
	var cases []Case
	for _, export := range []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportStop, abi.ExportRewind, abi.ExportTemplate} {
		d := newProgram("run-and-"+strings.TrimPrefix(export, "penstock_"), 1).runs()
		d.open(d.bind(abi.BufferCandidates, abi.BufferText))
		cases = append(cases, refused("a program is called for no token: "+export, d.on(export, asm.I32(0)), abi.ExportRun, export))
	}
	manifest := func(name, fields string, words ...string) Case {
		return refused("manifest of a program with "+fields, newDraft(name, fields+",").runs(), words...)
	}
	return append(cases, manifest("run-branches-65", `"branches":65`, "branches", "65"), manifest("run-branches-less", `"branches":-1`, "branches", "-1"),
		manifest("run-branches-text", `"branches":"4"`, "branches"), manifest("run-config-number", `"branches_config":4`, "branches_config"),
		refused("branches are for programs", newDraft("branches-alone", `"branches":2,`), "branches"),
		refused("so is branches_config", newDraft("branches-config-alone", `"branches_config":"n",`), "branches"))
}
