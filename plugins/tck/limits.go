// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
