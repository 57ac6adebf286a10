// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
