// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// additionCases are about what v1 did not have at first. Their guests ask for it with feature; a
// host without it passes.
func additionCases() []Case {
	return []Case{
		unchanged("request describes the model and the request", describedRequest()),
		unchanged("config has the schema's defaults, also those of objects that are there", defaulted()).in(Request{Config: `{"there":{}}`}),
		refused("a default that does not fit its schema", newDraft("default-misfit", `"config_schema":{"properties":{"p":{"type":"number","default":"x"}}},`), "/properties/p"),
		answered("forced tokens come one after the other: no prepare and no sample runs between them, every accept does", forcesRun("force-run").checksRun()),
		stopped("what ends the answer ends the tokens that are forced", 2, Any, forcesRunAndStops()),
		answered("what takes tokens back ends them too", forcesRunAndSplices()),
		givenOutputs(),
		unchanged("elapsed does not go back, nor forward within a call, and says nothing where there is no request", passes()),
		unchanged("param tells the request's time, and which of how many choices it is", timed()),
		unchanged("logprob is that of the accepted token, in accept alone", likely()),
		unchanged("an answer without messages is content, where the host can tell", parted()),
		answered("a token without a row of its own has none", unlikely()),
		unchanged("state is what is behind the logits, in sample, accept and stop alone", stated()),
		answered("a token without a row of its own has no state", stateless()),
		unchanged("media lists no pictures where there are none, and their token is none of the vocabulary", sightless()),
	}
}

// whereKnown is code that runs where the host has a feature.
func (d *draft) whereKnown(feature string, code ...[]byte) []byte {
	return slices.Concat(d.say(feature, abi.ImportFeature), asm.When(code...))
}

func describedRequest() *draft {
	d := newDraft("request", `"view":"none",`)
	size := d.call(abi.ImportRequest, 0, 0)
	reads := d.whereKnown(abi.ImportRequest,
		d.must("it is an object", asm.I32(2), size, asm.Less),
		d.equal("what does not fit is not written", size, d.call(abi.ImportRequest, atHistory, 1)),
		d.is("so memory is as it was", 0, asm.I32(atHistory), asm.LoadByte),
		d.equal("what fits has the same length", size, d.call(abi.ImportRequest, atHistory, 65536)),
		d.is("it begins as an object", '{', asm.I32(atHistory), asm.LoadByte),
		d.is("and ends as one", '}', asm.I32(atHistory-1), size, asm.Add, asm.LoadByte),
		asm.I32(atHistory), asm.I32(0), asm.I32(65536), asm.Fill)
	return d.open(reads).on(abi.ExportAccept, reads, asm.I32(0))
}

// passes reads how much time has passed. Global 1 has what it was in the call before.
func passes() *draft {
	const before = 1
	d := newDraft("elapsed", "")
	passed := d.Call(abi.ImportElapsed)
	d.on(abi.ExportWarm, d.whereKnown(abi.ImportElapsed, d.is("none in warm", -1, passed)), asm.I32(0))
	return d.on(abi.ExportAccept, d.whereKnown(abi.ImportElapsed,
		d.must("it does not go back", asm.Global(before), passed, asm.I32(1), asm.Add, asm.Less),
		passed, asm.SetGlobal(before), d.equal("twice the same in a call", asm.Global(before), passed)), asm.I32(0))
}

// sightless looks for pictures in a request that has none, wherever a plugin may.
func sightless() *draft {
	d := newDraft("sightless", `"view":"none",`)
	none := func() []byte {
		return d.whereKnown(abi.ImportMedia,
			d.is("an empty list has two bytes", 2, d.call(abi.ImportMedia, 0, 0)),
			asm.Poke(atHistory, 0), d.is("what does not fit is not written", 2, d.call(abi.ImportMedia, atHistory, 1)),
			d.is("so memory is as it was", 0, asm.I32(atHistory), asm.LoadByte),
			d.is("what fits has the same length", 2, d.call(abi.ImportMedia, atHistory, 64)),
			d.is("it begins as a list", '[', asm.I32(atHistory), asm.LoadByte), d.is("and ends as one", ']', asm.I32(atHistory+1), asm.LoadByte),
			d.is("the reserved token has no piece", -1, d.call(abi.ImportPiece, abi.TokenMedia, atHistory, 64)),
			d.is("and no attributes", -1, d.call(abi.ImportTokenAttr, abi.TokenMedia)))
	}
	return d.on(abi.ExportWarm, none(), asm.I32(0)).open(none()).on(abi.ExportAccept, none(), asm.I32(0))
}

// givenOutputs wants the values of outputs.
func givenOutputs() Case {
	c := unchanged("output takes JSON, and nothing else, up to a limit and where an answer goes on", outputs())
	name := c.Modules[0].Name
	c.Want.Outputs = append([]string{name + ` 0 {"a":[1,"ü",null]}` + "\n"}, slices.Repeat([]string{name + " 0 1\n"}, abi.LimitOutputs-1)...)
	return c
}

// outputs gives as much as it may in open.
func outputs() *draft {
	d := newDraft("client-output", `"view":"none",`)
	gives := func(what, value string, want int) []byte {
		return d.is(what, want, d.say(value, abi.ImportOutput))
	}
	one := d.say("1", abi.ImportOutput)
	return d.on(abi.ExportWarm, d.whereKnown(abi.ImportOutput, gives("no output in warm", "1", abi.OutputRefused)), asm.I32(0)).
		open(d.whereKnown(abi.ImportOutput,
			gives("an object", `{"a": [1, "ü", null]}`, abi.OutputOk),
			gives("half of one", `{"a":`, abi.OutputRefused),
			gives("nothing", "", abi.OutputRefused),
			gives("two values", "1 2", abi.OutputRefused),
			gives("no UTF-8", "\"\xff\"", abi.OutputRefused),
			d.is("more bytes than the limit", abi.OutputRefused, asm.I32(atHistory), asm.I32('1'), asm.I32(abi.LimitOutputBytes+1), asm.Fill,
				d.call(abi.ImportOutput, atHistory, abi.LimitOutputBytes+1)),
			asm.Each(1, asm.I32(abi.LimitOutputs-1), d.must("as many values as the limit", one, asm.EqualZero)))).
		on(abi.ExportAccept, d.whereKnown(abi.ImportOutput, d.is("more values than the limit", abi.OutputRefused, one)), asm.I32(0))
}

// defaulted has two defaults, 6 and 7, one of them in an object that the request gives, and a
// third, 8, in one that it does not.
func defaulted() *draft {
	d := newDraft("config-defaults", `"config_schema":{"properties":{"p":{"default":6},"there":{"properties":{"q":{"default":7}}},`+
		`"not_there":{"properties":{"r":{"default":8}}}}},`)
	has := func(digit int) []byte { // leaves how many bytes of the configuration are this digit
		return slices.Concat(asm.I32(0), asm.SetGlobal(1), asm.Each(1, d.call(abi.ImportConfig, atHistory, 4096),
			asm.I32(atHistory), asm.Local(1), asm.Add, asm.LoadByte, asm.I32(digit), asm.Equal, asm.When(count(1))), asm.Global(1))
	}
	return d.open(d.whereKnown("config_defaults",
		d.is("the default of a property", 1, has('6')), d.is("that of an object within", 1, has('7')), d.is("not that of an object that is not there", 0, has('8'))))
}

// The global in which forcesRun keeps how many tokens it forces at once: three, or one where the
// host can no more.
const forced = 2

// forcesRun forces the same three different tokens again and again.
func forcesRun(name string) *draft {
	d := newDraft(name, `"view":"none","hold":2,`)
	code := [][]byte{d.bind(abi.BufferSplice), asm.I32(1), asm.SetGlobal(forced), d.whereKnown("prepare_force_many", asm.I32(3), asm.SetGlobal(forced))}
	for i := range 3 {
		code = append(code, d.pick(), asm.I32(atRun+4*i), asm.Global(picked), asm.Store)
	}
	d.open(code...)
	d.on(abi.ExportSample, d.must("no sample where a token is forced", asm.I32(0)), asm.I32(0))
	return d
}

// atRun is where forcesRun keeps its tokens.
const atRun = atScratch + 64

// forcesFrom is code that fills the splice buffer with the tokens from an index on, which other
// code computes, and leaves bit 4.
func (d *draft) forcesFrom(tokens []byte) []byte {
	var code [][]byte
	for i := range 3 {
		at := slices.Concat(tokens, asm.I32(i), asm.Add, asm.I32(3), asm.Remainder, asm.I32(4), asm.Multiply, asm.I32(atRun), asm.Add, asm.Load)
		code = append(code, asm.I32(atSplice+8+4*i), at, asm.Store)
	}
	return slices.Concat(slices.Concat(code...), asm.Poke(atSplice, 0), asm.I32(atSplice+4), asm.Global(forced), asm.Store, asm.I32(abi.PrepareForce))
}

// checksRun adds checks that runs come whole and in order.
func (d *draft) checksRun() *draft {
	d.on(abi.ExportPrepare, d.is("prepare runs before a run only", 0, d.generated(), asm.Global(forced), asm.Remainder), d.forcesFrom(d.generated()))
	at := slices.Concat(d.generated(), asm.I32(2), asm.Add, asm.I32(3), asm.Remainder, asm.I32(4), asm.Multiply, asm.I32(atRun), asm.Add, asm.Load)
	return d.on(abi.ExportAccept, d.equal("the forced tokens in their order", asm.Local(0), at), asm.I32(0))
}

func forcesRunAndStops() *draft {
	d := forcesRun("force-run-stop")
	d.on(abi.ExportPrepare, d.forcesFrom(d.generated()))
	return d.on(abi.ExportAccept, d.must("nothing comes after the end", d.generated(), asm.I32(3), asm.Less), d.generated(), asm.I32(2), asm.Equal)
}

// forcesRunAndSplices replaces the second token, once. Global 1 counts accepts, global 3 is set
// from the splice to the next prepare.
func forcesRunAndSplices() *draft {
	const spliced = 3
	d := forcesRun("force-run-splice")
	d.on(abi.ExportPrepare, asm.Global(spliced), asm.When(d.is("the rest of the run did not come", 2, d.generated()), asm.I32(0), asm.SetGlobal(spliced)),
		d.forcesFrom(d.generated()))
	third := slices.Concat(asm.I32(atRun+8), asm.Load)
	return d.on(abi.ExportAccept, count(1), asm.Global(1), asm.I32(2), asm.Equal,
		asm.When(asm.I32(1), asm.SetGlobal(spliced), splice(1, third), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(0))
}

// timed wants a time after 2020, and the only choice.
func timed() *draft {
	d := newDraft("param-time", "")
	param := func(kind int) []byte { return d.call(abi.ImportParam, kind) }
	after := slices.Concat(param(abi.ParamTime), asm.I64(1_577_836_800_000), asm.Less64)
	return d.open(
		d.whereKnown(abi.FeatureParamTime, d.must("the time is that of a request of today", after, asm.EqualZero)),
		d.whereKnown(abi.FeatureParamChoice, d.must("it is the first choice", param(abi.ParamChoice), asm.I64(0), asm.Equal64),
			d.must("and the only one", param(abi.ParamChoices), asm.I64(1), asm.Equal64)))
}

// isNumber is code that leaves 1 where logprob is a number, and 0 where it is NaN.
func (d *draft) isNumber() []byte {
	return slices.Concat(d.Call(abi.ImportLogprob), asm.F32(0), asm.AtMostF32)
}

func likely() *draft {
	d := newDraft("logprob", "")
	return d.open(d.bind(abi.BufferText), d.whereKnown(abi.ImportLogprob, d.must("none in open", d.isNumber(), asm.EqualZero))).
		on(abi.ExportAccept, d.whereKnown(abi.ImportLogprob, d.must("a logarithm of a probability", d.isNumber())), asm.I32(0)).
		on(abi.ExportStop, d.whereKnown(abi.ImportLogprob, d.must("none in stop", d.isNumber(), asm.EqualZero)), asm.I32(abi.StopShow))
}

// unlikely appends the picked token to the first one, once.
func unlikely() *draft {
	d := newDraft("logprob-spliced", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return),
		d.whereKnown(abi.ImportLogprob, d.generated(), asm.I32(2), asm.Equal, asm.When(d.must("a spliced token has none", d.isNumber(), asm.EqualZero))), asm.I32(0))
}

// parted wants content, or that the host cannot tell.
func parted() *draft {
	d := newDraft("part", "")
	part := d.Call(abi.ImportPart)
	return d.on(abi.ExportAccept, d.whereKnown(abi.ImportPart,
		d.must("content, or unknown", part, asm.I32(abi.PartContent), asm.Equal, part, asm.I32(abi.PartUnknown), asm.Equal, asm.Or)), asm.I32(0))
}

// limitCases are about limits that are no faults to exceed: the guest is told, or the rest is cut.
func limitCases() []Case {
	memory := newDraft("memory-limit", "")
	memory.open(memory.is("memory does not grow past the limit", -1, asm.I32(abi.LimitMemoryPages-3), asm.GrowMemory),
		memory.is("memory grows up to it", 4, asm.I32(abi.LimitMemoryPages-4), asm.GrowMemory))
	table := newDraft("table-limit", "")
	table.Table = 1
	table.open(table.is("a table does not grow past the limit", -1, asm.NoFunction, asm.I32(abi.LimitTableElements), asm.GrowTable),
		table.is("a table grows up to it", 1, asm.NoFunction, asm.I32(abi.LimitTableElements-1), asm.GrowTable))
	flood := newDraft("log-flood", "")
	flood.on(abi.ExportAccept, asm.Each(1, asm.I32(200), flood.call(abi.ImportLog, abi.LogInfo, 0, 1000)), asm.I32(0))
	refusal := newDraft("long-refusal", "")
	refusal.on(abi.ExportOpen, refusal.say("too long to be shown", abi.ImportLog, asm.I32(0)),
		asm.I32(atText), asm.I32('x'), asm.I32(2*abi.LimitFailBytes), asm.Fill,
		refusal.call(abi.ImportFail, atText, 2*abi.LimitFailBytes), asm.I32(1))
	return []Case{
		unchanged("memory grows up to the limit; past it the guest is told", memory),
		unchanged("so does a table", table),
		unchanged("a log past the limit is cut, and no fault", flood),
		declined("so is the text of a refusal", "xxxx", refusal),
		unchanged("grammars that do not compile have no handle", grammars()),
		answered("a grammar fills the mask, moves on by what it allowed and refuses the rest; an instance has four at most", guided()),
		answered("a grammar tells how many tokens complete its text, and masks those after which too few are left", completed()),
	}
}

// grammars makes calls that a host without a grammar engine answers in the same way.
func grammars() *draft {
	d := newDraft("grammar", "")
	at, n := d.note("root ::= (")
	open := func(kind, size int) []byte { return d.call(abi.ImportGrammarOpen, kind, at, size) }
	refusal := func(what string, code []byte) []byte {
		return d.must(what, code, asm.I32(31), asm.ShiftRight) // the sign
	}
	d.open(d.bind(abi.BufferMask), refusal("a broken grammar", open(abi.GrammarGBNF, n)), refusal("a broken schema", open(abi.GrammarJSONSchema, n)),
		refusal("an unknown kind", open(2, n)), d.whereKnown(abi.ImportGrammarRest, d.is("the rest without a grammar", abi.RestUnknown, d.call(abi.ImportGrammarRest, 0))),
		d.is("accept without a grammar", -1, d.call(abi.ImportGrammarAccept, 0, 1)))
	return d.on(abi.ExportPrepare, d.is("a mask without a grammar", -1, d.call(abi.ImportGrammarMask, 0)), asm.I32(0))
}

// completed asks how a text can be completed, where the host has an engine for grammars and knows
// that.
func completed() *draft {
	const handle, none = 1, -1
	d := newDraft("grammar-completes", "")
	at, n := d.note("root ::= [a-z0-9 ]+")
	led := func(name string, code ...[]byte) []byte {
		return d.whereKnown(name, slices.Concat(asm.Global(handle), asm.I32(none), asm.Equal, asm.EqualZero, asm.When(code...)))
	}
	of := func(name string, arguments ...int) []byte {
		return slices.Concat(asm.Global(handle), d.call(name, arguments...))
	}
	d.open(d.bind(abi.BufferMask), d.call(abi.ImportGrammarOpen, abi.GrammarGBNF, at, n), asm.SetGlobal(handle),
		led(abi.ImportGrammarRest, d.is("a token completes it", 1, of(abi.ImportGrammarRest))),
		led(abi.ImportGrammarReason, d.is("there is no reason where none was refused", 0, d.call(abi.ImportGrammarReason, at, 0))))
	return d.on(abi.ExportPrepare, led(abi.ImportGrammarMaskWithin, d.is("the mask is filled", abi.WithinFilled, of(abi.ImportGrammarMaskWithin, 1000))), asm.I32(0))
}

// guided follows a grammar, where the host has an engine for it.
func guided() *draft {
	const handle, none = 1, -1
	d := newDraft("grammar-leads", "")
	at, n := d.note("root ::= [a-z0-9 ]+")
	open := d.call(abi.ImportGrammarOpen, abi.GrammarGBNF, at, n)
	is := func(want int) []byte { return slices.Concat(asm.I32(want), asm.Equal) }
	led := func(code ...[]byte) []byte {
		return slices.Concat(asm.Global(handle), is(none), asm.EqualZero, asm.When(code...))
	}
	var others [][]byte
	for range abi.LimitGrammars - 1 {
		others = append(others, d.must("a handle", open, is(none), asm.EqualZero))
	}
	d.open(d.bind(abi.BufferMask), open, asm.SetGlobal(handle), led(slices.Concat(others...), d.is("one handle more than there are", none, open)))
	filled := d.is("the mask is filled", 0, asm.Global(handle), d.Call(abi.ImportGrammarMask))
	d.on(abi.ExportPrepare, led(filled, asm.I32(abi.PrepareMask), asm.Return), asm.I32(0))
	move := func(token []byte) []byte {
		return slices.Concat(asm.Global(handle), token, d.Call(abi.ImportGrammarAccept))
	}
	return d.on(abi.ExportAccept, led(d.is("no token is refused", -1, move(asm.I32(-1))),
		d.is("what the mask allowed is accepted", 0, move(asm.Local(0)))), asm.I32(0))
}

// What stated keeps in globals: how many numbers a state has, and the bits of the first.
const (
	stateLength = 1
	stateFirst  = 2
)

// stated wants the same state in all calls for a token, another for each, and none elsewhere.
func stated() *draft {
	d := newDraft("state", "")
	length := d.call(abi.ImportState, atHistory, 0)
	first := slices.Concat(asm.I32(atHistory), asm.Load)
	none := func(where string) []byte {
		return d.whereKnown(abi.ImportState, d.is("no state in "+where, 0, length))
	}
	same := func(where string) []byte {
		return d.whereKnown(abi.ImportState, d.equal("as many numbers in "+where, d.call(abi.ImportState, atHistory, 32768), asm.Global(stateLength)),
			d.equal("the same state in "+where, first, asm.Global(stateFirst)))
	}
	d.open(d.bind(abi.BufferCandidates, abi.BufferText), none("open"))
	d.on(abi.ExportPrepare, none("prepare"), asm.I32(0))
	d.on(abi.ExportSample, d.whereKnown(abi.ImportState,
		length, asm.SetGlobal(stateLength), d.must("some numbers", asm.I32(0), asm.Global(stateLength), asm.Less), asm.Poke(atHistory, 0),
		d.equal("their number where they do not fit", asm.Global(stateLength),
			slices.Concat(asm.I32(atHistory), asm.Global(stateLength), asm.I32(1), asm.Subtract, d.Call(abi.ImportState))),
		d.is("nothing is written", 0, first),
		d.equal("their number where they fit", asm.Global(stateLength), d.call(abi.ImportState, atHistory, 32768)),
		d.must("a state of its own", first, asm.Global(stateFirst), asm.Equal, asm.EqualZero), first, asm.SetGlobal(stateFirst)),
		asm.I32(abi.SampleEdited))
	d.on(abi.ExportAccept, same("accept"), asm.I32(0))
	return d.on(abi.ExportStop, same("stop"), asm.I32(abi.StopShow))
}

// stateless appends the picked token to the first one, once.
func stateless() *draft {
	d := newDraft("state-spliced", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return),
		d.whereKnown(abi.ImportState, d.generated(), asm.I32(2), asm.Equal,
			asm.When(d.is("a spliced token has no state", 0, d.call(abi.ImportState, atHistory, 0)))), asm.I32(0))
}
