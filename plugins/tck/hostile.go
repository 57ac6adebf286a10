// SPDX-License-Identifier: MIT

package tck

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Hostile are the cases whose guests break the rules. A host must contain each, with an error that
// names plugin, export and cause, while the streams of others go on as if nothing happened.
func Hostile() []Case {
	return slices.Concat(everywhere(), boundCases(), pointerCases(), answerCases(), spliceCases(), floodCases(), oversizeCases(), costlyCases(), hostilePrograms(), hostilePlans(), hostileFilters())
}

// start stands for a module's start function among the exports.
const start = "start function"

// everywhere puts an endless loop and a trap into every export.
func everywhere() []Case {
	var cases []Case
	for _, export := range append([]string{start}, names()...) {
		for _, evil := range []struct {
			name, cause string
			code        []byte
		}{{"loop", causeFuel, asm.Forever}, {"trap", causeTrap, asm.Unreachable}} {
			if evil.cause == causeFuel && setsUp(export) {
				evil.cause = "" // set-up has much fuel: on a busy machine its time is over first
			}
			cases = append(cases, misplaced(evil.name, evil.cause, evil.code, export))
		}
	}
	return cases
}

// setsUp reports whether a call of an export is set-up.
func setsUp(export string) bool {
	return slices.Contains([]string{start, abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportPlan, abi.ExportOpen, abi.ExportMessages, abi.ExportTemplate}, export)
}

// names are the exports that are called.
func names() []string {
	var list []string
	for _, s := range abi.Exports {
		if s.Name != abi.ExportABIV1 {
			list = append(list, s.Name)
		}
	}
	return list
}

// misplaced is a guest that runs code in an export.
func misplaced(name, cause string, code []byte, export string) Case {
	d := newDraft(name+"-"+strings.ReplaceAll(strings.Trim(strings.TrimPrefix(export, "penstock"), "_"), " ", "-"), "")
	rule := name + " in " + export
	switch export {
	case start:
		d.Function(abi.Signature{Name: "begin"}, 0, code)
		d.Start = "begin"
		return refused(rule, d, export, cause)
	case abi.ExportDescribe:
		d.Funcs[1].Code = code
		return refused(rule, d, export, cause)
	case abi.ExportInitialize, abi.ExportWarm:
		return refused(rule, d.on(export, code), export, cause)
	case abi.ExportClose:
		return unchanged(rule+": the answer is there already", d.on(export, code))
	case abi.ExportTemplate, abi.ExportMessages:
		return faulted(rule, export, cause, d.on(export, code)).in(Request{Chat: true})
	case abi.ExportRewind:
		c := faulted(rule, export, cause, replaces("before-"+name+"-rewind"), d.on(export, code))
		c.Name = strings.TrimPrefix(d.name, "tck-")
		return c
	case abi.ExportOpen, abi.ExportPlan:
		return faulted(rule, export, cause, d.on(export, code))
	}
	return faulted(rule, export, cause, d.open(d.bind(abi.BufferCandidates, abi.BufferText)).on(export, code))
}

// boundCases use up what is limited, or reach over its bounds, in prepare.
func boundCases() []Case {
	does := func(name, rule, cause string, code ...[]byte) Case {
		d := newDraft(name, "")
		d.Table = 1
		return faulted(rule, abi.ExportPrepare, cause, d.on(abi.ExportPrepare, append(code, asm.I32(0))...))
	}
	sets := func(name, rule string, code []byte) Case {
		return refused(rule, newDraft(name, "").on(abi.ExportPrepare, code, asm.I32(0)), "WebAssembly")
	}
	grow := slices.Concat(asm.I32(1), asm.GrowMemory, asm.Drop)
	large := slices.Concat(asm.I32(252), asm.GrowMemory, asm.Drop)
	fill := slices.Concat(asm.I32(0), asm.I32(1), asm.I32(256<<16), asm.Fill)
	return []Case{
		does("memory-bomb", "growing memory for ever", causeFuel, asm.Loop(grow)),
		does("memory-minus-one", "growing memory by −1", causeFuel, asm.I32(-1), asm.GrowMemory, asm.Drop),
		does("table-bomb", "growing a table for ever", causeFuel, asm.Loop(asm.NoFunction, asm.I32(1), asm.GrowTable, asm.Drop)),
		does("table-minus-one", "growing a table by −1", causeFuel, asm.NoFunction, asm.I32(-1), asm.GrowTable, asm.Drop),
		does("fills", "fills in a straight line", causeFuel, large, slices.Repeat(fill, 40)),
		does("fill-4-gib", "a fill of all addresses", causeFuel, asm.I32(0), asm.I32(1), asm.I32(-1), asm.Fill),
		does("long-loop", "a loop with a body of 100,000 instructions", causeFuel, asm.Loop(slices.Repeat([]byte{0x01}, 100_000))),
		does("load-outside", "a load outside memory", causeTrap, asm.I32(-4), asm.Load, asm.Drop),
		does("store-outside", "a store outside memory", causeTrap, asm.I32(4<<16-2), asm.I32(1), asm.Store),
		does("fill-outside", "a fill past the end of memory", causeTrap, asm.I32(4<<16-8), asm.I32(1), asm.I32(64), asm.Fill),
		does("table-outside", "a store outside a table", causeTrap, asm.I32(5), asm.SetTable),
		does("no-function", "a call of no function", causeTrap, asm.I32(0), []byte{0x11, 1, 0}),
		does("division", "a division by zero", causeTrap, asm.I32(1), asm.I32(0), asm.Divide, asm.Drop),
		recursion("recursion", 0), recursion("recursion-with-locals", abi.LimitLocals-1000),
		// The host counts in globals of its own, which come after the guest's.
		sets("sets-the-counter", "writing to the global after the last", slices.Concat(asm.I64(1<<60), asm.SetGlobal(4))),
		sets("sets-the-stack", "writing to the one after that", slices.Concat(asm.I64(1<<60), asm.SetGlobal(5))),
		sets("reads-the-counter", "reading the global after the last", slices.Concat(asm.Global(4), asm.Wrap, asm.Drop)),
		sets("calls-no-function", "calling a function that there is not", asm.CallFunction(4)),
	}
}

func recursion(name string, locals int) Case {
	d := newDraft(name, "")
	self := len(d.Imports) + len(d.Funcs)
	d.Function(abi.Signature{Name: abi.ExportPrepare, Results: []abi.Type{"i32"}}, locals, asm.CallFunction(self))
	return faulted("recursion without end", abi.ExportPrepare, causeStack, d)
}
