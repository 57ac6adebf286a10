// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// acceptCases are about ending an answer and changing it.
func acceptCases() []Case {
	ends := newDraft("accept-stops", "")
	ends.on(abi.ExportAccept, ends.generated(), asm.I32(3), asm.Equal)
	return []Case{
		stopped("1 ends the answer after the token", 3, Any, ends),
		answered("a splice replaces the token just accepted", replaces("replaces")),
		answered("a splice appends after it", appends()),
		answered("a splice may take tokens back and put none in their place", takesBack()),
		answered("hold bounds how many, the one just accepted among them", takesBackThree()),
		answered("as many as hold has said in open, at most the manifest's", takesBackAsSaid()),
	}
}

// replaces puts the picked token in the place of every other.
func replaces(name string) *draft {
	d := newDraft(name, `"hold":1,`)
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, asm.Local(0), asm.Global(picked), asm.Equal, asm.EqualZero,
		asm.When(splice(1, asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(abi.AcceptContinue))
}

// once runs code the first time only; global 1 tells.
func once(code ...[]byte) []byte {
	return slices.Concat(asm.Global(1), asm.EqualZero, asm.When(asm.I32(1), asm.SetGlobal(1), slices.Concat(code...)))
}

// appends puts the picked token after the first one, twice.
func appends() *draft {
	d := newDraft("appends", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, asm.Global(picked), asm.Global(picked)), asm.I32(abi.AcceptSplice), asm.Return),
		d.generated(), asm.I32(4), asm.Less, asm.When(d.equal("the appended token", asm.Local(0), asm.Global(picked))), asm.I32(abi.AcceptContinue))
}

// takesBack takes the first token back, once; the next one is the first again.
func takesBack() *draft {
	d := newDraft("takes-back", `"hold":1,`)
	d.open(d.bind(abi.BufferSplice))
	return d.on(abi.ExportAccept, once(splice(1), asm.I32(abi.AcceptSplice), asm.Return), count(2),
		d.equal("history is without the token taken back", d.generated(), asm.Global(2)), asm.I32(abi.AcceptContinue))
}

// takesBackThree takes three tokens back when there are four.
func takesBackThree() *draft {
	d := newDraft("takes-back-3", `"hold":3,`)
	d.open(d.bind(abi.BufferSplice))
	back := once(splice(3), asm.I32(2), asm.SetGlobal(2), asm.I32(abi.AcceptSplice), asm.Return)
	return d.on(abi.ExportAccept, d.generated(), asm.I32(4), asm.Equal, asm.When(back),
		asm.Global(2), asm.When(d.equal("history is without the tokens taken back", d.generated(), asm.Global(2)), count(2)), asm.I32(abi.AcceptContinue))
}

// takesBackAsSaid says in open how many tokens it takes back, at most.
func takesBackAsSaid() *draft {
	d := newDraft("takes-back-as-said", `"hold":3,`)
	hold := func(n int) []byte { return slices.Concat(asm.I32(n), d.Call(abi.ImportHold)) }
	d.open(d.bind(abi.BufferSplice), d.is("more than the manifest's", abi.HoldRefused, hold(4)), d.is("fewer than none", abi.HoldRefused, hold(-1)),
		d.is("all", abi.HoldOk, hold(3)), d.is("the last counts", abi.HoldOk, hold(1)))
	return d.on(abi.ExportAccept, d.is("outside open", abi.HoldRefused, hold(2)), once(splice(1), asm.I32(abi.AcceptSplice), asm.Return), asm.I32(abi.AcceptContinue))
}

// rewindCases are about plugins beside one that changes the answer: global 1 counts what they
// accepted.
func rewindCases() []Case {
	const accepted, rewinds = 1, 2
	counts := func(d *draft) *draft {
		return d.on(abi.ExportAccept, count(accepted), d.equal("accepted since the prompt", asm.Global(accepted), d.generated()), asm.I32(abi.AcceptContinue))
	}
	told := counts(newDraft("rewind-told", ""))
	told.on(abi.ExportRewind, rewound(told, accepted), count(rewinds), asm.I32(0))
	told.on(abi.ExportPrepare, told.generated(), asm.I32(3), asm.Equal, asm.When(told.must("rewind was called", asm.Global(rewinds))), asm.I32(0))
	return []Case{
		answered("a plugin is told through rewind what others took back", told, replaces("rewinds")),
		answered("one that accepts and cannot be told begins anew, and is replayed", counts(newDraft("rewind-replayed", "")), replaces("replays")),
	}
}

// rewound checks the parameter of rewind, and takes what it says as the number of accepted tokens.
func rewound(d *draft, accepted int) []byte {
	return slices.Concat(d.equal("rewind gives the history's length", asm.Local(0), d.history()), d.generated(), asm.SetGlobal(accepted))
}
