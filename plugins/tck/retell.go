// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
