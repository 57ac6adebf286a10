// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// acceptCases are about ending an answer and changing it.
func acceptCases() []Case {
	ends := newDraft("accept-stops", "")
	ends.on(abi.ExportAccept, ends.generated(), asm.I32(3), asm.Equal)
	return []Case{
		stopped("1 ends the answer after the token", 3, Any, ends),
		answered("a splice replaces the token just accepted", replaces("replaces")),
		answered("a splice appends after it", appends()),
		answered("a splice may take tokens back and put none in their place", takesBack()),
		answered("hold bounds how many, the one just accepted among them", takesBackThree()),
		answered("as many as hold has said in open, at most the manifest's", takesBackAsSaid()),
	}
}

// replaces puts the picked token in the place of every other.
func replaces(name string) *draft {
	d := newDraft(name, `"hold":1,`)
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, asm.Local(0), asm.Global(picked), asm.Equal, asm.EqualZero,
		asm.When(splice(1, asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(abi.AcceptContinue))
}

// once runs code the first time only; global 1 tells.
func once(code ...[]byte) []byte {
	return slices.Concat(asm.Global(1), asm.EqualZero, asm.When(asm.I32(1), asm.SetGlobal(1), slices.Concat(code...)))
}

// appends puts the picked token after the first one, twice.
func appends() *draft {
	d := newDraft("appends", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, asm.Global(picked), asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return),
		d.generated(), asm.I32(4), asm.Less, asm.When(d.equal("the appended token", asm.Local(0), asm.Global(picked))), asm.I32(abi.AcceptContinue))
}

// takesBack takes the first token back, once; the next one is the first again.
func takesBack() *draft {
	d := newDraft("takes-back", `"hold":1,`)
	d.open(d.bind(abi.BufferSplice))
	return d.on(abi.ExportAccept, once(splice(1), asm.I32(abi.AcceptSplice), asm.Return), count(2),
		d.equal("history is without the token taken back", d.generated(), asm.Global(2)), asm.I32(abi.AcceptContinue))
}

// takesBackThree takes three tokens back when there are four.
func takesBackThree() *draft {
	d := newDraft("takes-back-3", `"hold":3,`)
	d.open(d.bind(abi.BufferSplice))
	back := once(splice(3), asm.I32(2), asm.SetGlobal(2), asm.I32(abi.AcceptSplice), asm.Return)
	return d.on(abi.ExportAccept, d.generated(), asm.I32(4), asm.Equal, asm.When(back),
		asm.Global(2), asm.When(d.equal("history is without the tokens taken back", d.generated(), asm.Global(2)), count(2)), asm.I32(abi.AcceptContinue))
}

// takesBackAsSaid says in open how many tokens it takes back, at most.
func takesBackAsSaid() *draft {
	d := newDraft("takes-back-as-said", `"hold":3,`)
	hold := func(n int) []byte { return slices.Concat(asm.I32(n), d.Call(abi.ImportHold)) }
	d.open(d.bind(abi.BufferSplice), d.is("more than the manifest's", abi.HoldRefused, hold(4)), d.is("fewer than none", abi.HoldRefused, hold(-1)),
		d.is("all", abi.HoldOk, hold(3)), d.is("the last counts", abi.HoldOk, hold(1)))
	return d.on(abi.ExportAccept, d.is("outside open", abi.HoldRefused, hold(2)), once(splice(1), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(abi.AcceptContinue))
}

// rewindCases are about plugins beside one that changes the answer: global 1 counts what they
// accepted.
func rewindCases() []Case {
	const accepted, rewinds = 1, 2
	counts := func(d *draft) *draft {
		return d.on(abi.ExportAccept, count(accepted), d.equal("accepted since the prompt", asm.Global(accepted), d.generated()), asm.I32(abi.AcceptContinue))
	}
	told := counts(newDraft("rewind-told", ""))
	told.on(abi.ExportRewind, rewound(told, accepted), count(rewinds), asm.I32(0))
	told.on(abi.ExportPrepare, told.generated(), asm.I32(3), asm.Equal, asm.When(told.must("rewind was called", asm.Global(rewinds))), asm.I32(0))
	return []Case{
		answered("a plugin is told through rewind what others took back", told, replaces("rewinds")),
		answered("one that accepts and cannot be told begins anew, and is replayed", counts(newDraft("rewind-replayed", "")), replaces("replays")),
	}
}

// rewound checks the parameter of rewind, and takes what it says as the number of accepted tokens.
func rewound(d *draft, accepted int) []byte {
	return slices.Concat(d.equal("rewind gives the history's length", asm.Local(0), d.history()), d.generated(), asm.SetGlobal(accepted))
}

// spliceCases take back or insert what may not be.
func spliceCases() []Case {
	splices := func(name, rule, cause string, code ...[]byte) Case {
		d := newDraft(name, `"hold":2,`)
		d.open(d.bind(abi.BufferSplice), d.pick())
		return faulted(rule, abi.ExportAccept, cause, d.on(abi.ExportAccept, append(code, asm.I32(abi.AcceptSplice))...))
	}
	token := asm.Global(picked)
	third := slices.Concat(early(), asm.When(asm.I32(abi.AcceptContinue), asm.Return))
	return []Case{
		splices("splice-past-beginning", "taking back more than was generated", causeAnswer, splice(2)),
		splices("splice-most", "taking back 4,294,967,295 tokens", causeAnswer, splice(-1)),
		splices("splice-past-hold", "taking back more than hold", causeAnswer, third, splice(3)),
		splices("splice-many", "more tokens than fit", causeAnswer, asm.Poke(atSplice+4, spliceCap+1)),
		splices("splice-all", "4,294,967,295 tokens", causeAnswer, asm.Poke(atSplice+4, -1)),
		splices("splice-no-token", "what is no token", causeAnswer, splice(0, asm.I32(-1))),
		splices("splice-to-splice", "a splice in answer to a spliced token", causeAnswer, splice(1, token)),
		splices("splice-endless", "taking back for ever", causeLimit, splice(1)),
	}
}

// early leaves 1 the first two times it runs.
func early() []byte { return slices.Concat(count(1), asm.Global(1), asm.I32(3), asm.Less) }

// floodCases give the host more than it wants, or call it where they may not.
func floodCases() []Case {
	emits := newDraft("emit-flood", "")
	describes := newDraft("describe-flood", "")
	describes.Funcs[1].Code = asm.Loop(describes.call(abi.ImportEmit, 0, 4<<16))
	where := func(name, function string, code func(d *draft) []byte) Case {
		d := newDraft(name, "")
		return faulted(function+" out of place", abi.ExportAccept, causeCall, d.open(d.bind(abi.BufferMask)).on(abi.ExportAccept, code(d), asm.I32(0)))
	}
	logs := newDraft("log-endless", "")
	writes := newDraft("output-endless", "")
	exits := newDraft("exits", "")
	return []Case{
		faulted("a prompt past the limit", abi.ExportTemplate, causeLimit,
			emits.on(abi.ExportTemplate, asm.Loop(emits.call(abi.ImportEmit, 0, 4<<16)))).in(Request{Chat: true}),
		refused("a manifest past the limit", describes, abi.ExportDescribe, causeLimit),
		faulted("logging for ever", abi.ExportAccept, causeFuel, logs.on(abi.ExportAccept, asm.Loop(logs.call(abi.ImportLog, 0, 0, 100)))),
		faulted("writing for ever", abi.ExportAccept, causeFuel, writes.on(abi.ExportAccept, asm.Poke(atScratch, 0), asm.Poke(atScratch+4, 100),
			asm.Loop(writes.system("fd_write", "iiii", asm.I32(1), asm.I32(atScratch), asm.I32(1), asm.I32(atScratch+8)), asm.Drop))),
		where("emit-out-of-place", abi.ImportEmit, func(d *draft) []byte { return d.call(abi.ImportEmit, 0, 1) }),
		where("mask-out-of-place", abi.ImportGrammarMask, func(d *draft) []byte { return append(d.call(abi.ImportGrammarMask, 0), asm.Drop...) }),
		faulted("exiting", abi.ExportAccept, causeExit, exits.on(abi.ExportAccept, asm.I32(0), exits.system("proc_exit", "i"), asm.I32(0))),
	}
}

// oversizeCases are modules too large in some way.
func oversizeCases() []Case {
	nothing := []byte{0x01}
	functions := newDraft("16-mib", "")
	branch := slices.Concat(asm.I32(0), []byte{0x0d, 0})
	for range 16 {
		functions.Function(abi.Signature{}, 0, slices.Repeat(branch, abi.LimitBodyBytes/4-100))
	}
	memory := newDraft("memory-minimum", "")
	memory.Pages = abi.LimitMemoryPages + 1
	table := newDraft("table-minimum", "")
	table.Table = abi.LimitTableElements + 1
	segment := newDraft("segment-outside", "")
	segment.Put(4<<16, "x")
	tooLarge := append([]byte("\x00asm\x01\x00\x00\x00"), make([]byte, abi.LimitModuleBytes)...)
	holds := func(name, rule string, code []byte, words string) Case {
		return refused(rule, newDraft(name, "").on(abi.ExportPrepare, code, asm.I32(0)), words)
	}
	return []Case{
		refusedBytes("too-large", "a module past the limit", tooLarge),
		refused("16 MiB of functions", functions, "limit exceeded"),
		refused("more memory than the limit from the beginning", memory, "limit"),
		refused("more table elements than the limit from the beginning", table, "limit"),
		refused("data outside memory", segment, "WebAssembly"),
		holds("large-body", "a function past the limit", slices.Repeat(nothing, abi.LimitBodyBytes), "limit"),
		holds("deep-blocks", "blocks 300,000 deep", append(slices.Repeat([]byte{0x02, 0x40}, 300_000), slices.Repeat(asm.End, 300_000)...), "limit"),
		holds("atomics", "instructions beyond Wasm 2.0", []byte{0xfe, 0x03, 0x00}, "WebAssembly"),
		holds("tail-call", "a tail call", []byte{0x12, 0}, "WebAssembly"),
	}
}

// stopCases are about stop rules.
func stopCases() []Case {
	const total = 1 // bytes of text so far
	sum := slices.Concat(asm.Global(total), asm.Local(1), asm.Add, asm.SetGlobal(total))
	rule := func(name string, code func(d *draft) []byte) *draft {
		d := newDraft(name, "")
		return d.open(d.bind(abi.BufferText)).on(abi.ExportStop, sum,
			d.must("text fits the buffer", asm.Local(1), asm.I32(textSize+1), asm.Less), code(d))
	}
	// from is an answer from the third token on; before it is another.
	from := func(before, then []byte) func(d *draft) []byte {
		return func(d *draft) []byte {
			return slices.Concat(d.generated(), asm.I32(3), asm.Less, asm.When(before, asm.Return), then)
		}
	}
	all := slices.Concat(asm.I32(-1), asm.Global(total), asm.Subtract)
	return []Case{
		unchanged("0 shows the text; it comes in whole characters", rule("stop-shows", func(d *draft) []byte {
			continuation := [][]byte{asm.I32(atText), asm.LoadByte, asm.I32(0xc0), asm.And, asm.I32(0x80), asm.Equal}
			return slices.Concat(asm.Local(1), asm.When(d.must("text begins with a character", slices.Concat(continuation...), asm.EqualZero)), asm.I32(abi.StopShow))
		})),
		stopped("1 ends, and shows the text", 3, Prefix, rule("stop-ends", from(asm.I32(abi.StopShow), asm.I32(abi.StopEnd)))),
		stopped("2 ends, and hides what was held", 3, Empty, rule("stop-hides", from(asm.I32(abi.StopHold), asm.I32(abi.StopHide)))),
		stopped("2 hides nothing that was shown", 3, Prefix, rule("stop-hides-last", from(asm.I32(abi.StopShow), asm.I32(abi.StopHide)))),
		stopped("−1 shows none of what was held", 3, Empty, rule("stop-none", from(asm.I32(abi.StopHold), asm.I32(-1)))),
		stopped("−n−1 shows n bytes of it", 3, Prefix, rule("stop-part", from(asm.I32(abi.StopHold), all))),
		unchanged("at the end held text is shown", rule("stop-holds", func(*draft) []byte { return asm.I32(abi.StopHold) })),
		stopped("of several stop rules one is enough", 3, Prefix, rule("stop-both", from(asm.I32(abi.StopShow), asm.I32(abi.StopEnd))),
			rule("stop-other", func(*draft) []byte { return asm.I32(abi.StopShow) })),
	}
}

// filters is a filter of this code.
func filters(name string, code ...[]byte) *draft {
	d := newDraft(name, "")
	return d.open(d.bind(abi.BufferText)).on(abi.ExportFilter, code...)
}

// filterCases are about plugins that rewrite text before it is shown.
func filterCases() []Case {
	hides := newDraft("filter-hides", "")
	hides.open(hides.bind(abi.BufferText)).on(abi.ExportFilter, hides.call(abi.ImportEmit, 0, 0), asm.I32(0))
	after := newDraft("filter-after", "")
	after.open(after.bind(abi.BufferText)).on(abi.ExportFilter, after.is("there is no text", 0, asm.Local(0)), after.is("only the end", 1, asm.Local(1)), asm.I32(0))
	hidden := unchanged("an empty text may stand in the place of it, and the next filter gets none", hides, after)
	hidden.Want.Text = Empty
	declines := newDraft("filter-declines", "")
	declines.open(declines.is("it may", abi.DeclineOk, declines.decline(abi.ExportFilter))).on(abi.ExportFilter, asm.Unreachable)
	return []Case{
		unchanged("what a filter leaves alone is shown", filters("filter-shows", asm.I32(0))),
		unchanged("what a filter keeps back comes again before what follows, for the last time at the end", keepsText()),
		hidden,
		unchanged("a declined filter is not called, and needs no buffer", declines),
		answered("a filter that rewrites the conversation has it as it was", readsBack(), rendersAny("filter-messages")).in(Request{Chat: true}),
		refused("a program shows what it wants to show, and is no filter", newProgram("filter-program", 1).runs().on(abi.ExportFilter, asm.I32(0)), abi.ExportRun, abi.ExportFilter),
	}
}

// keepsText keeps all text back until the last call, and hands it to emit then. Global 1 has how
// much was kept back.
func keepsText() *draft {
	const kept = 1
	d := newDraft("filter-keeps", "")
	return d.open(d.bind(abi.BufferText)).on(abi.ExportFilter,
		d.must("what was kept back is there again", asm.Global(kept), asm.Local(0), asm.I32(1), asm.Add, asm.Less),
		asm.Local(0), asm.SetGlobal(kept),
		asm.Local(1), asm.When(asm.I32(atText), asm.Local(0), d.Call(abi.ImportEmit), asm.I32(0), asm.Return), asm.Local(0))
}

// readsBack compares the length of the conversation in open and in filter with what it rewrote.
func readsBack() *draft {
	d := newDraft("filter-messages", "")
	size := d.call(abi.ImportMessages, 0, 0)
	there := d.must("the conversation is there", asm.I32(2), size, asm.Less)
	d.on(abi.ExportMessages, d.say(conversation, abi.ImportEmit), asm.I32(0))
	d.open(d.bind(abi.BufferText), there)
	return d.on(abi.ExportFilter, there, d.must("it is not what it became", size, asm.I32(len(conversation)), asm.Equal, asm.EqualZero), asm.I32(0))
}

// hostileFilters break the rules of filters.
func hostileFilters() []Case {
	flood := newDraft("filter-flood", "")
	flood.open(flood.bind(abi.BufferText)).on(abi.ExportFilter, flood.call(abi.ImportEmit, 0, abi.LimitFilterBytes+1), asm.I32(0))
	return []Case{
		faulted("a filter keeps back less than nothing", abi.ExportFilter, causeAnswer, filters("filter-negative", asm.I32(-1))),
		faulted("a filter keeps back more than there is", abi.ExportFilter, causeAnswer, filters("filter-more", slices.Concat(asm.Local(0), asm.I32(1), asm.Add))),
		faulted("a filter keeps text back at the end", abi.ExportFilter, causeAnswer, filters("filter-end", asm.Local(0))),
		faulted("a filter writes too much", abi.ExportFilter, causeLimit, flood),
		faulted("a filter needs a text buffer", abi.ExportOpen, causeBuffer, newDraft("unbound-filter", "").open().on(abi.ExportFilter, asm.I32(0))),
	}
}

// retellCases are about stop rules beside a plugin that takes back what they were shown. Global 1
// counts their calls.
func retellCases() []Case {
	const calls = 1
	counts := func(name string) *draft {
		d := newDraft(name, "")
		d.open(d.bind(abi.BufferText))
		place := slices.Concat(d.prompt(), asm.Global(calls), asm.Add, asm.I32(1), asm.Subtract)
		shown := slices.Concat(place, asm.I32(atHistory), asm.I32(8192), d.Call(abi.ImportHistory), asm.Drop, asm.I32(atHistory), asm.Load)
		return d.on(abi.ExportStop, count(calls), d.equal("each token of the answer is shown once, in order", asm.Local(0), shown), asm.I32(abi.StopShow))
	}
	return []Case{
		unchanged("text is the answer's text, as stop is shown it", readsText()),
		answered("a stop rule that cannot be told begins anew, and is shown again the text that still stands", counts("stop-again"), takesShown("takes-shown")),
		answered("so is one that accepts, too", counts("stop-accept-again").on(abi.ExportAccept, asm.I32(0)), takesShown("takes-shown-accept")),
	}
}

// takesShown forces three different tokens again and again. Three times it takes two tokens back,
// and with the third of these what others were shown: hold is 2, and the stream runs fewer tokens
// behind each time. Global 3 counts the times.
func takesShown(name string) *draft {
	const times = 3
	d := forcesRun(name)
	d.on(abi.ExportPrepare, asm.I32(1), asm.SetGlobal(forced), d.forcesFrom(d.generated()))
	back := slices.Concat(count(times), splice(2), asm.I32(abi.AcceptSplice), asm.Return)
	return d.on(abi.ExportAccept, asm.Global(times), asm.I32(3), asm.Less,
		asm.When(d.generated(), asm.I32(5), asm.Equal, asm.Global(times), asm.Or, asm.When(back)), asm.I32(abi.AcceptContinue))
}

// readsText counts the bytes that stop is shown, and compares them with the text. Global 1 has
// their number.
func readsText() *draft {
	const bytes = 1
	d := newDraft("answer-text", "")
	size := d.call(abi.ImportText, 0, 0, 0)
	return d.open(d.bind(abi.BufferText)).on(abi.ExportStop, asm.Global(bytes), asm.Local(1), asm.Add, asm.SetGlobal(bytes),
		d.whereKnown(abi.ImportText, d.equal("its length", size, asm.Global(bytes)),
			d.equal("what does not fit is not written", d.call(abi.ImportText, 0, atHistory, 0), asm.Global(bytes)),
			d.is("so memory is as it was", 0, asm.I32(atHistory), asm.LoadByte),
			d.is("none is behind its end", 0, d.call(abi.ImportText, 1<<31-1, atHistory, 64)),
			asm.Local(1), asm.When(
				d.is("the last byte alone", 1, d.call(abi.ImportText, -1, atHistory, 1)),
				d.equal("is that of the new text", slices.Concat(asm.I32(atHistory), asm.LoadByte),
					slices.Concat(asm.I32(atText-1), asm.Local(1), asm.Add, asm.LoadByte)),
				asm.I32(atHistory), asm.I32(0), asm.I32(64), asm.Fill)),
		asm.I32(abi.StopShow))
}
