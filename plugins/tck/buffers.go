// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// bufferCases are about bind.
func bufferCases() []Case {
	const memory = 4 << 16 // bytes of a draft
	type binding struct{ kind, ptr, size, want int }
	const ok, no = abi.BindOk, abi.BindRefused
	binds := func(name string, list ...binding) *draft {
		d := newDraft(name, "")
		var code [][]byte
		for _, b := range list {
			code = append(code, d.is("bind", b.want, d.call(abi.ImportBind, b.kind, b.ptr, b.size)))
		}
		return d.open(code...)
	}
	late := newDraft("bind-late", "")
	late.open().on(abi.ExportPrepare, late.is("bind in prepare", no, late.call(abi.ImportBind, abi.BufferText, atText, textSize)), asm.I32(0))
	return []Case{
		unchanged("a buffer is bound once", binds("bind-twice", binding{1, atView, 32, ok}, binding{1, atView + 64, 32, no})),
		unchanged("buffers do not overlap", binds("bind-overlap",
			binding{1, atView, 32, ok}, binding{4, atView + 28, 32, no}, binding{5, atView - 28, 32, no}, binding{5, atView, 32, no}, binding{6, atView + 32, 256, ok})),
		unchanged("kinds are known", binds("bind-kinds", binding{0, atView, 512, no}, binding{7, atView, 512, no}, binding{-1, atView, 512, no})),
		unchanged("buffers are aligned to 4", binds("bind-align", binding{1, atView + 2, 32, no}, binding{1, atView + 1, 32, no}, binding{1, atView + 4, 32, ok})),
		unchanged("buffers lie in memory", binds("bind-outside", binding{1, memory - 16, 32, no}, binding{1, -32, 32, no}, binding{1, -16, 32, no},
			binding{6, 0, -1, no}, binding{6, 4, -4, no}, binding{1, memory - 32, 32, ok})),
		unchanged("buffers have room for the least", binds("bind-small", binding{1, atView, 4, no}, binding{2, atView, 4, no}, binding{3, atView, 0, no},
			binding{4, atView, 8, no}, binding{5, atView, 4, no}, binding{6, atView, 255, no})),
		unchanged("bind belongs to open", late),
		faulted("a declared view must be bound", abi.ExportOpen, causeBuffer, newDraft("unbound-candidates", "").open().on(abi.ExportSample, asm.I32(-1))),
		faulted("so must the row", abi.ExportOpen, causeBuffer, newDraft("unbound-logits", `"view":"logits",`).open().on(abi.ExportSample, asm.I32(-1))),
		faulted("a stop rule needs a text buffer", abi.ExportOpen, causeBuffer, newDraft("unbound-text", "").open().on(abi.ExportStop, asm.I32(0))),
		unchanged("a bound buffer stays where it is when memory grows", growing()),
	}
}

// growing grows between and within calls. After the growth of sample, a ban of the best token in
// the old place must count.
func growing() *draft {
	d := newDraft("growing", "")
	more := slices.Concat(asm.I32(1), asm.GrowMemory, asm.Drop)
	d.open(d.bind(abi.BufferCandidates, abi.BufferSplice)).on(abi.ExportPrepare, more, asm.I32(0))
	d.on(abi.ExportSample, more, asm.I32(atView), asm.Load, asm.SetGlobal(picked), asm.I32(-1))
	return d.insists()
}
