// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// runCases are about penstock_run itself: how it shows an answer and ends it, and what goes with
// it.
func runCases() []Case {
	written := func(name string, d *draft) *draft { // a whole answer
		if d == nil {
			d = newProgram(name, 1)
		}
		return d.runs(d.openPrompt(root), d.greedy(MaxTokens))
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
			early.runs(early.openPrompt(root), early.greedy(3))),
		build("a program that shows nothing gives an empty answer", Want{Outcome: Answered, Reason: "stop", Text: Empty}, newProgram("run-nothing", 1).runs()),
		unchanged("what ends the answer ends the program", ended.runs(ended.openPrompt(root), ended.greedy(MaxTokens), ended.waits(0, 0), asm.Unreachable)),
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

// adopts shows so many tokens, and has the answer go on from its branch, which has them.
func adopts(name string, tokens int) *draft {
	d := newProgram(name, 1)
	return d.runs(d.openPrompt(root), d.greedy(tokens), d.is("adopt", 0, asm.I32(0), asm.Local(root), d.prompt(), d.Call(abi.ImportAdopt)),
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
	code := d.openPrompt(root)
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
	return d.runs(d.openPrompt(root), asm.Each(counter, asm.I32(MaxTokens), d.waits(told, 0, asm.Local(root)), asm.Drop, d.best(asm.Local(root)),
		drawn, d.shows(), d.adds(asm.Local(root), 0)))
}

// fewerBranches has as many branches as it is configured for, two of four.
func fewerBranches() *draft {
	d := newDraft("run-fewer", fmt.Sprintf(`"branches":4,"branches_config":"n","config_schema":{"properties":{"n":{"type":"integer"}}},"optional":[%q],`, abi.ExportRun))
	return d.runs(d.openPrompt(root), d.is("a second branch", 1, d.of(abi.ImportBranchFork, asm.Local(root))),
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
