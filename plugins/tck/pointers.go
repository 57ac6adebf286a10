// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// pointerCases hand addresses outside memory to every host function that takes one.
func pointerCases() []Case {
	const end = 4 << 16 // of a draft's memory
	var cases []Case
	for _, c := range []struct {
		name, function string
		args           []int
	}{
		{"config", abi.ImportConfig, []int{end - 1, 64}},
		{"config-limit", abi.ImportConfig, []int{atScratch, -1}},
		{"messages", abi.ImportMessages, []int{-1, 64}},
		{"history", abi.ImportHistory, []int{0, end - 4, 8192}},
		{"history-wraps", abi.ImportHistory, []int{0, -8, 0x40000000}},
		{"feature", abi.ImportFeature, []int{end - 1, 2}},
		{"piece", abi.ImportPiece, []int{1, -1, 64}},
		{"vocab", abi.ImportVocab, []int{end, 1}},
		{"text", abi.ImportTokenize, []int{-1, 1, 0, atScratch, 0}},
		{"text-length", abi.ImportTokenize, []int{0, -1, 0, atScratch, 0}},
		{"tokens", abi.ImportTokenize, []int{atScratch, 0, 0, end - 2, 1}},
		{"prompt", abi.ImportPrompt, []int{end - 1, 2, atScratch, 0}},
		{"prompt-limit", abi.ImportPrompt, []int{0, 0, end, 1}},
		{"state", abi.ImportState, []int{end - 4, 2}},
		{"state-wraps", abi.ImportState, []int{atScratch, 0x40000000}},
		{"log", abi.ImportLog, []int{0, end - 1, 2}},
		{"fail", abi.ImportFail, []int{-1, 1}},
		{"grammar", abi.ImportGrammarOpen, []int{0, end, 1}},
	} {
		d := newDraft("outside-"+c.name, "")
		code := d.call(c.function, c.args...)
		if answers(c.function) {
			code = append(code, asm.Drop...)
		}
		cases = append(cases, faulted("an address outside memory in "+c.function, abi.ExportOpen, causeMemory, d.on(abi.ExportOpen, code, asm.I32(0))))
	}
	emits := newDraft("outside-emit", "")
	written := newDraft("outside-fd-write", "")
	return append(cases,
		faulted("an address outside memory in emit", abi.ExportTemplate, causeMemory,
			emits.on(abi.ExportTemplate, emits.call(abi.ImportEmit, end-1, 2), asm.I32(0))).in(Request{Chat: true}),
		faulted("a list outside memory in fd_write", abi.ExportOpen, causeMemory,
			written.on(abi.ExportOpen, written.system("fd_write", "iiii", asm.I32(1), asm.I32(end-4), asm.I32(1), asm.I32(atScratch)))))
}

// answers reports whether a host function has a result.
func answers(function string) bool {
	for _, s := range abi.Imports {
		if s.Name == function {
			return len(s.Results) > 0
		}
	}
	return false
}
