// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
