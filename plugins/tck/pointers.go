// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
