// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
