// SPDX-License-Identifier: MIT

package tck

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// lifeCases are about what is called around a request's tokens.
func lifeCases() []Case {
	return []Case{
		unchanged("a plugin that exports nothing else than version and manifest changes nothing", newDraft("least", "")),
		unchanged("the manifest may come in several parts", inParts()),
		unchanged("_initialize runs before everything else, warm once, and every instance begins with a copy of what warm left", warmed()),
		unchanged("a fault of the last call concerns no request any more", newDraft("close-traps", "").on(abi.ExportClose, asm.Unreachable)),
		declined("a refusal of open is the client's, in the plugin's own words", "no, thank you", refusing()),
		declined("a configuration that does not fit the manifest's schema is the client's", "config", strict()).in(Request{Config: `{"p":2}`}),
		unchanged("one that fits is not", strict().named("config-fits")).in(Request{Config: `{"p":1}`}),
		build("a template makes the prompt of the messages", Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length"}, template()).in(Request{Chat: true}),
		declined("a template needs messages", "messages", template().named("template-prompt")),
		unchanged("after a skipped fault the request goes on as if the plugin were not there",
			newDraft("skipped", "").open().on(abi.ExportAccept, asm.Unreachable)).in(Request{Skip: true}),
	}
}

func inParts() *draft {
	d := newDraft("parts", "")
	describe := &d.Funcs[1]
	describe.Code = nil
	text := d.Data[0].Text
	for i, part := range []string{text[:3], text[3:9], text[9:]} {
		describe.Code = append(describe.Code, d.call(abi.ImportEmit, 8+[]int{0, 3, 9}[i], len(part))...)
	}
	return d
}

// warmed counts in memory and in globals; each request's instance then counts on, and no other
// sees it.
func warmed() *draft {
	const calls = 1 // the global
	stored := func(d *draft, what string, want int) []byte {
		return d.is(what, want, asm.I32(atScratch), asm.Load)
	}
	d := newDraft("warm", "")
	d.on(abi.ExportInitialize, d.is("nothing runs before _initialize", 0, asm.Global(calls)), count(calls), asm.Poke(atScratch, 11))
	d.on(abi.ExportWarm, d.is("warm runs once, after _initialize", 1, asm.Global(calls)), count(calls), asm.Poke(atScratch, 12),
		d.is("nothing is bound in warm", abi.BindRefused, d.call(abi.ImportBind, abi.BufferText, atText, textSize)),
		d.is("no history in warm", 0, d.history()), asm.I32(0))
	return d.open(d.is("globals are as warm left them", 2, asm.Global(calls)), stored(d, "memory is as warm left it", 12),
		count(calls), asm.Poke(atScratch, 13))
}

func refusing() *draft {
	d := newDraft("refuses", "")
	return d.on(abi.ExportOpen, d.say("no, thank you", abi.ImportFail), asm.I32(1))
}

func strict() *draft {
	return newDraft("config", `"config_schema":{"type":"object","properties":{"p":{"type":"number","maximum":1}}},`).open()
}

func template() *draft {
	d := newDraft("template", "")
	return d.on(abi.ExportTemplate, d.must("messages are there", asm.I32(2), d.call(abi.ImportMessages, atHistory, 65536), asm.Less),
		d.is("they are a list", '[', asm.I32(atHistory), asm.LoadByte), d.say("1 2 ", abi.ImportEmit), d.say("3", abi.ImportEmit), asm.I32(0))
}

// named is the same guest under another name.
func (d *draft) named(name string) *draft {
	old := len(d.Data[0].Text)
	fresh := newDraft(name, "")
	manifest := d.Data[0].Text[:old-len(`"name":"`+d.name+`"}`)] + `"name":"` + fresh.name + `"}`
	d.Data[0].Text, d.name = manifest, fresh.name
	for i := range d.Funcs {
		if d.Funcs[i].Name == abi.ExportDescribe {
			d.Funcs[i].Code = d.call(abi.ImportEmit, 8, len(manifest))
		}
	}
	return d
}

// planCases are about what a plugin says of one configuration before its request runs.
func planCases() []Case {
	return []Case{
		unchanged("a plan that emits nothing leaves the manifest as it is", calledAll()),
		unchanged("a plan leaves out calls, which are not made", narrowed("plan-narrows", `{"implements":["penstock_open"]}`)),
		unchanged("it may come in several parts", narrowed("plan-parts", `{"implements":`, `["penstock_`, `open"]}`)),
		unchanged("it reads the configuration, and nothing else of the request", readsConfig()).in(Request{Config: configText}),
		unchanged("an instance begins with a copy of what the plan left, and no other sees what it writes", leavesMemory()),
		unchanged("random draws in a plan what it draws in warm", drawsAsWarm()),
		unchanged("a view may be narrower than the manifest's", narrowView()),
		unchanged("what a plan does not need is not computed", needless()),
		unchanged("one module may be a sampler or a program, by its plan", samplerOrProgram()),
		declined("a refusal of a plan is about the configuration, in the plugin's own words", "no such rule", refusingPlan()),
		refused("a module with a plan does not change its tables", func() *draft {
			d := newDraft("plan-table", "").on(abi.ExportPlan, asm.I32(0), asm.SetTable, asm.I32(0))
			d.Table = 1
			return d
		}(), abi.ExportPlan, "table"),
	}
}

// plans adds a plan: code, and what it emits, part by part.
func (d *draft) plans(parts []string, code ...[]byte) *draft {
	for _, part := range parts {
		code = append(code, d.say(part, abi.ImportEmit))
	}
	return d.on(abi.ExportPlan, append(code, asm.I32(0))...)
}

// narrowed traps in each call for a token, so its plan leaves them out.
func narrowed(name string, parts ...string) *draft {
	d := newDraft(name, `"hold":3,`).open().plans(parts)
	for _, export := range []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportStop, abi.ExportDraft} {
		d.on(export, asm.Unreachable)
	}
	return d
}

// calledAll counts its calls for tokens, and wants them all.
func calledAll() *draft {
	const calls = 1
	d := newDraft("plan-nothing", "").plans(nil)
	d.open(d.bind(abi.BufferCandidates))
	d.on(abi.ExportSample, count(calls), asm.I32(abi.SampleEdited))
	d.on(abi.ExportAccept, d.equal("sample was called for each token", asm.Global(calls), d.generated()), asm.I32(0))
	return d
}

func readsConfig() *draft {
	d := newDraft("plan-config", "")
	begins := int(configText[0]) | int(configText[1])<<8 | int(configText[2])<<16 | int(configText[3])<<24
	return d.plans(nil,
		d.is("its length", len(configText), d.call(abi.ImportConfig, atScratch, 64)), d.is("the text", begins, asm.I32(atScratch), asm.Load),
		d.is("no history", 0, d.history()), d.is("no messages", 0, d.call(abi.ImportMessages, atHistory, 64)),
		d.is("nothing is bound", abi.BindRefused, d.call(abi.ImportBind, abi.BufferText, atText, textSize)),
		d.is("no output", abi.OutputRefused, d.say("1", abi.ImportOutput)), d.is("no note", abi.NoteRefused, d.say("1", abi.ImportNote)),
		d.must("the vocabulary is there", d.Call(abi.ImportVocabSize)))
}

// leavesMemory counts in memory that warm left, in memory that the plan added, and in a global.
func leavesMemory() *draft {
	const calls, added = 1, 4 << 16
	d := newDraft("plan-memory", "")
	d.on(abi.ExportWarm, count(calls), asm.Poke(atScratch, 11), asm.I32(0))
	d.plans(nil, d.is("memory is as warm left it", 11, asm.I32(atScratch), asm.Load), count(calls), asm.Poke(atScratch, 12),
		d.is("memory grows", 4, asm.I32(1), asm.GrowMemory), asm.Poke(added, 5))
	stored := func(what string, at, want int) []byte { return d.is(what, want, asm.I32(at), asm.Load) }
	return d.open(d.is("globals are as the plan left them", 2, asm.Global(calls)), stored("memory is as the plan left it", atScratch, 12),
		stored("so is what it added", added, 5), count(calls), asm.Poke(atScratch, 13), asm.Poke(added, 6))
}

func drawsAsWarm() *draft {
	d := newDraft("plan-random", "")
	keeps := func(at int) []byte { return slices.Concat(asm.I32(at), d.Call(abi.ImportRandom), asm.Store64) }
	d.on(abi.ExportWarm, keeps(atScratch), asm.I32(0))
	return d.plans(nil, keeps(atScratch+8),
		d.must("the first draws are the same", asm.I32(atScratch), asm.Load64, asm.I32(atScratch+8), asm.Load64, asm.Equal64)).open()
}

// narrowView has the whole row in its manifest, and wants three candidates.
func narrowView() *draft {
	d := newDraft("plan-view", `"view":"logits",`).plans([]string{`{"view":"candidates","candidates":3}`})
	d.open(d.bind(abi.BufferCandidates))
	return d.on(abi.ExportSample, d.is("so many are shown", 3, asm.Local(0)), asm.I32(abi.SampleEdited))
}

func needless() *draft {
	d := newDraft("plan-needs", "").plans([]string{`{"needs":[]}`}).open()
	return d.on(abi.ExportAccept, asm.PokeF(atScratch, 0), asm.I32(atScratch), d.Call(abi.ImportLogprob), asm.StoreF32,
		d.must("no number equals itself", asm.I32(atScratch), asm.LoadF32, asm.I32(atScratch), asm.LoadF32, asm.EqualF32, asm.EqualZero), asm.I32(0))
}

// samplerOrProgram is a program by its plan, and traps as a sampler.
func samplerOrProgram() *draft {
	d := newProgram("plan-program", 3)
	d.runs(d.openPrompt(), d.is("there is one branch", abi.BranchNoneFree, d.call(abi.ImportBranchOpen, 0, 0)), d.greedy(MaxTokens))
	for _, export := range []string{abi.ExportSample, abi.ExportAccept} {
		d.on(export, asm.Unreachable)
	}
	return d.plans([]string{`{"implements":["penstock_run"],"branches":1}`})
}

func refusingPlan() *draft {
	d := newDraft("plan-refuses", "")
	return d.on(abi.ExportPlan, d.say("no such rule", abi.ImportFail), asm.I32(1)).open()
}

// fuelCases are about what a call learns of its fuel, and says before it fails.
func fuelCases() []Case {
	left := newDraft("fuel", "")
	spent := func(at int) []byte { return slices.Concat(asm.I32(at), left.Call(abi.ImportFuel), asm.Store64) }
	at := func(at int) []byte { return slices.Concat(asm.I32(at), asm.Load64) }
	left.on(abi.ExportAccept, left.whereKnown(abi.ImportFuel, spent(atScratch), spent(atScratch+8),
		left.must("it becomes less by what a call costs", at(atScratch+8), asm.I64(127), asm.Add64, at(atScratch), asm.Less64),
		left.must("and is below the limit", at(atScratch), asm.I64(abi.LimitHookFuel), asm.Less64),
		left.must("most of it is left", asm.I64(abi.LimitHookFuel/2), at(atScratch+8), asm.Less64)), asm.I32(0))
	says := newDraft("fail-trap", "")
	says.on(abi.ExportAccept, says.say("x is null, line 3", abi.ImportFail), asm.Unreachable)
	silent := newDraft("fail-before", "").open()
	silent.on(abi.ExportPrepare, silent.say("of an earlier call", abi.ImportFail), asm.I32(0)).on(abi.ExportAccept, asm.Unreachable)
	said := faulted("what fail was given before a trap is the fault's text", abi.ExportAccept, causeError, says)
	said.Want.Error = append(said.Want.Error, "x is null, line 3")
	return []Case{
		unchanged("fuel tells what is left of the call", left),
		said,
		faulted("what it was given in an earlier call is not", abi.ExportAccept, causeTrap, silent),
	}
}

// hostilePlans want more than their manifest allows, or more than a plan may have.
func hostilePlans() []Case {
	emits := func(name, rule, fields, plan string, words ...string) Case {
		c := faulted(rule, abi.ExportPlan, causeAnswer, newDraft(name, fields).open().plans([]string{plan}))
		c.Want.Error = append(c.Want.Error, words...)
		return c
	}
	does := func(name, rule, cause string, code ...[]byte) Case {
		return faulted(rule, abi.ExportPlan, cause, newDraft(name, "").on(abi.ExportPlan, append(code, asm.I32(0))...))
	}
	large := newDraft("plan-text", "")
	large.on(abi.ExportPlan, asm.Each(0, asm.I32(2), large.call(abi.ImportEmit, 0, abi.LimitPlanBytes-1)), asm.I32(0))
	branches := newProgram("plan-branches", 1)
	branches.runs().plans(nil, branches.call(abi.ImportBranchOpen, 0, 0), asm.Drop)
	scattered := newDraft("plan-scattered", "").open()
	scattered.plans(nil, asm.I32(128), asm.GrowMemory, asm.Drop, asm.Each(0, asm.I32(1024),
		asm.I32(4<<16), asm.Local(0), asm.I32(8192), asm.Multiply, asm.Add, asm.I32(1), asm.Store))
	return []Case{
		emits("plan-hold", "a plan with a larger hold", `"hold":2,`, `{"hold":3}`, "hold is 3"),
		emits("plan-candidates", "a plan with more candidates", "", `{"candidates":257}`, "candidates is 257"),
		emits("plan-take-back", "a plan that takes more back", `"take_back":1,`, `{"take_back":1000000}`, "take_back"),
		emits("plan-implements", "a plan with a call that the module lacks", "", `{"implements":["penstock_stop"]}`, "penstock_stop"),
		faulted("a plan with a call that the manifest leaves out", abi.ExportPlan, causeAnswer,
			newDraft("plan-unlisted", `"implements":["penstock_plan"],`).on(abi.ExportAccept, asm.I32(0)).plans([]string{`{"implements":["penstock_accept"]}`})),
		emits("plan-rows", "a plan with a wider view", "", `{"view":"logits"}`, "view"),
		emits("plan-name", "a plan with another name", "", `{"name":"other"}`, "name"),
		emits("plan-unneeded", "a plan that needs what there is not", "", `{"needs":["telepathy"]}`, "telepathy"),
		emits("plan-no-object", "a plan that is no object", "", `[1]`, "object"),
		emits("plan-no-json", "a plan that is no JSON", "", "{\"hold\":\xff}"),
		emits("plan-deep", "a plan that is nested deep", "", `{"config_schema":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`}`),
		faulted("a plan of more bytes than it may have", abi.ExportPlan, causeLimit, large),
		faulted("a plan that opens a branch", abi.ExportPlan, causeCall, branches),
		does("plan-memory-bomb", "a plan that changes more memory than may be kept", causeLimit,
			asm.I32(300), asm.GrowMemory, asm.Drop, asm.I32(4<<16), asm.I32(1), asm.I32(300<<16), asm.Fill),
		does("plan-recursion-outside", "a plan that writes outside memory", causeTrap, asm.I32(-4), asm.I32(1), asm.Store),
		unchanged("a plan that changes every other page", scattered),
	}
}
