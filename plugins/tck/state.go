// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// What stated keeps in globals: how many numbers a state has, and the bits of the first.
const (
	stateLength = 1
	stateFirst  = 2
)

// stated wants the same state in all calls for a token, another for each, and none elsewhere.
func stated() *draft {
	d := newDraft("state", "")
	length := d.call(abi.ImportState, atHistory, 0)
	first := slices.Concat(asm.I32(atHistory), asm.Load)
	none := func(where string) []byte {
		return d.whereKnown(abi.ImportState, d.is("no state in "+where, 0, length))
	}
	same := func(where string) []byte {
		return d.whereKnown(abi.ImportState, d.equal("as many numbers in "+where, d.call(abi.ImportState, atHistory, 32768), asm.Global(stateLength)),
			d.equal("the same state in "+where, first, asm.Global(stateFirst)))
	}
	d.open(d.bind(abi.BufferCandidates, abi.BufferText), none("open"))
	d.on(abi.ExportPrepare, none("prepare"), asm.I32(0))
	d.on(abi.ExportSample, d.whereKnown(abi.ImportState,
		length, asm.SetGlobal(stateLength), d.must("some numbers", asm.I32(0), asm.Global(stateLength), asm.Less), asm.Poke(atHistory, 0),
		d.equal("their number where they do not fit", asm.Global(stateLength),
			slices.Concat(asm.I32(atHistory), asm.Global(stateLength), asm.I32(1), asm.Subtract, d.Call(abi.ImportState))),
		d.is("nothing is written", 0, first),
		d.equal("their number where they fit", asm.Global(stateLength), d.call(abi.ImportState, atHistory, 32768)),
		d.must("a state of its own", first, asm.Global(stateFirst), asm.Equal, asm.EqualZero), first, asm.SetGlobal(stateFirst)),
		asm.I32(abi.SampleEdited))
	d.on(abi.ExportAccept, same("accept"), asm.I32(0))
	return d.on(abi.ExportStop, same("stop"), asm.I32(abi.StopShow))
}

// stateless appends the picked token to the first one, once.
func stateless() *draft {
	d := newDraft("state-spliced", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return),
		d.whereKnown(abi.ImportState, d.generated(), asm.I32(2), asm.Equal,
			asm.When(d.is("a spliced token has no state", 0, d.call(abi.ImportState, atHistory, 0)))), asm.I32(0))
}
