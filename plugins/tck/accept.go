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
