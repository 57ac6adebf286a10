// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
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

// costlyCases are guests that try to take more time than their fuel is worth: by host functions,
// by memory that is in no cache, and by instructions that do much. Which limit ends them, fuel or
// time, is a matter of the machine; their requests must be answered within three seconds.
func costlyCases() []Case {
	cases := []Case{
		endless("bind", func(d *draft) []byte { return d.call(abi.ImportBind, 99, 0, 0) }),
		endless("feature", func(d *draft) []byte { return d.call(abi.ImportFeature, large, largeBytes) }),
		endless("piece", func(d *draft) []byte { return d.call(abi.ImportPiece, 1, atScratch, 64) }),
		endless("vocab", func(d *draft) []byte { return d.call(abi.ImportVocab, large, largeBytes) }),
		endless("tokenize", func(d *draft) []byte { return d.call(abi.ImportTokenize, large, abi.LimitTokenizeBytes, 0, 0, 0) }),
		endless("tokenize-nothing", func(d *draft) []byte { return d.call(abi.ImportTokenize, large, 0, 0, 0, 0) }),
		endless("fail", func(d *draft) []byte { return append(d.call(abi.ImportFail, large, abi.LimitFailBytes), asm.I32(0)...) }),
		endless("grammar", func(d *draft) []byte { return d.say("root ::= (", abi.ImportGrammarOpen, asm.I32(0)) }),
		endless("schema", func(d *draft) []byte {
			return d.say(`{"type":"string","maxLength":`, abi.ImportGrammarOpen, asm.I32(1))
		}),
		endless("iovecs", func(d *draft) []byte {
			return d.system("fd_write", "iiii", asm.I32(1), asm.I32(large), asm.I32(largeBytes/8), asm.I32(atScratch))
		}),
		endless("random", func(d *draft) []byte { return d.system("random_get", "ii", asm.I32(large), asm.I32(largeBytes)) }),
		endless("poll", func(d *draft) []byte {
			return d.system("poll_oneoff", "iiii", asm.I32(large), asm.I32(large), asm.I32(largeBytes/48), asm.I32(atScratch))
		}),
		endless("clock", func(d *draft) []byte {
			return d.system("clock_time_get", "iIi", asm.I32(0), asm.I64(1), asm.I32(atScratch))
		}),
		endless("fill", func(*draft) []byte {
			return slices.Concat(asm.I32(large), asm.I32(1), asm.I32(largeBytes), asm.Fill, asm.I32(0))
		}),
	}
	for _, export := range []string{abi.ExportOpen, abi.ExportTemplate, abi.ExportSample} {
		cases = append(cases, stride(export))
	}
	return cases
}

// Where a costly guest has much memory.
const (
	large      = 1 << 20
	largeBytes = 63 << 20
)

// takes grows memory to the limit without touching it.
func takes(d *draft) []byte {
	return slices.Concat(asm.I32(abi.LimitMemoryPages-int(d.Pages)), asm.GrowMemory, asm.Drop)
}

// endless repeats code that leaves an i32, in open and forever.
func endless(name string, code func(d *draft) []byte) Case {
	d := newDraft("endless-"+name, "")
	return faulted(name+" for ever", abi.ExportOpen, "", d.on(abi.ExportOpen, takes(d), asm.Loop(code(d), asm.Drop)))
}

// stride writes forever, each time far from the last, so that each write waits for memory.
func stride(export string) Case {
	const at = 1 // a global
	d := newDraft("stride-"+export[len("penstock_"):], "")
	next := slices.Concat(asm.Global(at), asm.I32(4096+64), asm.Add, asm.I32(1<<25-4), asm.And, asm.SetGlobal(at))
	step := slices.Concat(asm.Global(at), asm.I32(large), asm.Add, asm.Global(at), asm.Store)
	code := slices.Concat(takes(d), asm.Loop(next, step, next, step, next, step, next, step))
	rule := "waiting for memory with every instruction in " + export
	switch export {
	case abi.ExportTemplate:
		return faulted(rule, export, "", d.on(export, code)).in(Request{Chat: true})
	case abi.ExportOpen:
		return faulted(rule, export, "", d.on(export, code))
	}
	return faulted(rule, export, "", d.open(d.bind(abi.BufferCandidates)).on(export, code))
}

// pointerCases hand addresses and lengths outside memory to every host function that takes a list,
// as the ABI's table says.
func pointerCases() []Case {
	var cases []Case
	for k := range abi.Imports {
		s := &abi.Imports[k]
		for j, m := range s.Memory {
			if m.Access == abi.Keep {
				continue
			}
			where := fmt.Sprintf("%s-%d", s.Name, j)
			cases = append(cases, outside(s, m, "end-"+where, "a list that begins in memory and ends outside", func(end int) (at, n int) { return end - int(m.List.Size(1)), 2 }))
			if m.Most == 0 {
				cases = append(cases, outside(s, m, "all-"+where, "a list of 4,294,967,295", func(int) (at, n int) { return atScratch, -1 }))
			}
			if unit := m.List.Size(2) - m.List.Size(1); m.Most == 0 && unit > 1 {
				cases = append(cases, outside(s, m, "wraps-"+where, "a list whose length in bytes is beyond 32 bits", func(int) (at, n int) { return atScratch, int((1<<32)/unit) + 1 }))
			}
		}
	}
	written := newDraft("outside-fd-write", "")
	return append(cases,
		faulted("a list outside memory in fd_write", abi.ExportOpen, causeMemory,
			written.on(abi.ExportOpen, written.system("fd_write", "iiii", asm.I32(1), asm.I32(draftPages<<16-4), asm.I32(1), asm.I32(atScratch)))))
}

// draftPages is how much memory a draft has.
const draftPages = 4

// outside is a case that hands one list to a function. All other parameters are 0.
func outside(s *abi.Signature, m abi.Memory, name, rule string, list func(end int) (at, n int)) Case {
	args := make([]int, len(s.Params))
	rule += " in " + s.Name
	code := func(d *draft, pages int) []byte {
		args[m.At], args[m.N] = list(pages << 16)
		calls := d.call(s.Name, args...)
		if len(s.Results) > 0 {
			calls = append(calls, asm.Drop...)
		}
		return calls
	}
	switch {
	case slices.Contains(s.In, abi.ExportRun):
		return breaks("outside-"+name, rule, causeMemory, func(d *draft) []byte { return code(d, rowPages) })
	case slices.Contains(s.In, abi.ExportTemplate):
		d := newDraft("outside-"+name, "")
		return faulted(rule, abi.ExportTemplate, causeMemory, d.on(abi.ExportTemplate, code(d, draftPages), asm.I32(0))).in(Request{Chat: true})
	}
	d := newDraft("outside-"+name, "")
	return faulted(rule, abi.ExportOpen, causeMemory, d.on(abi.ExportOpen, code(d, draftPages), asm.I32(0)))
}
