// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
)

// acceptCases are about ending an answer and changing it.
func acceptCases() []Case {
	ends := newDraft("accept-stops", "")
	ends.on(abi.ExportAccept, ends.generated(), p.I32(3), p.Equal)
	return []Case{
		stopped("1 ends the answer after the token", 3, Any, ends),
		answered("a splice replaces the token just accepted", replaces("replaces")),
		answered("a splice appends after it", appends()),
		answered("a splice may take tokens back and put none in their place", takesBack()),
		answered("hold bounds how many, the one just accepted among them", takesBackThree()),
	}
}

// replaces puts the picked token in the place of every other.
func replaces(name string) *draft {
	d := newDraft(name, `"hold":1,`)
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, p.Local(0), p.Global(picked), p.Equal, p.EqualZero,
		p.When(splice(1, p.Global(picked)), p.I32(abi.AcceptSplice), p.Return), p.I32(abi.AcceptContinue))
}

// once runs code the first time only; global 1 tells.
func once(code ...[]byte) []byte {
	return join([][]byte{p.Global(1), p.EqualZero, p.When(p.I32(1), p.SetGlobal(1), join(code))})
}

// appends puts the picked token behind the first one, twice.
func appends() *draft {
	d := newDraft("appends", "")
	d.open(d.bind(abi.BufferSplice), d.pick())
	return d.on(abi.ExportAccept, once(splice(0, p.Global(picked), p.Global(picked)), p.I32(abi.AcceptSplice), p.Return),
		d.generated(), p.I32(4), p.Less, p.When(d.like("the appended token", p.Local(0), p.Global(picked))), p.I32(abi.AcceptContinue))
}

// takesBack takes the first token back, once; the next one is the first again.
func takesBack() *draft {
	d := newDraft("takes-back", `"hold":1,`)
	d.open(d.bind(abi.BufferSplice))
	return d.on(abi.ExportAccept, once(splice(1), p.I32(abi.AcceptSplice), p.Return), count(2),
		d.like("history is without the token taken back", d.generated(), p.Global(2)), p.I32(abi.AcceptContinue))
}

// takesBackThree takes three tokens back when there are four.
func takesBackThree() *draft {
	d := newDraft("takes-back-3", `"hold":3,`)
	d.open(d.bind(abi.BufferSplice))
	return d.on(abi.ExportAccept, d.generated(), p.I32(4), p.Equal, p.When(once(splice(3), p.I32(2), p.SetGlobal(2), p.I32(abi.AcceptSplice), p.Return)),
		p.Global(2), p.When(d.like("history is without the tokens taken back", d.generated(), p.Global(2)), count(2)), p.I32(abi.AcceptContinue))
}

// rewindCases are about plugins beside one that changes the answer: global 1 counts what they accepted.
func rewindCases() []Case {
	const accepted, rewinds = 1, 2
	counts := func(d *draft) *draft {
		return d.on(abi.ExportAccept, count(accepted), d.like("accepted since the prompt", p.Global(accepted), d.generated()), p.I32(abi.AcceptContinue))
	}
	told := counts(newDraft("rewind-told", ""))
	told.on(abi.ExportRewind, rewound(told, accepted), count(rewinds), p.I32(0))
	told.on(abi.ExportPrepare, told.generated(), p.I32(3), p.Equal, p.When(told.must("rewind was called", p.Global(rewinds))), p.I32(0))
	return []Case{
		answered("a plugin is told through rewind what others took back", told, replaces("rewinds")),
		answered("one that accepts and cannot be told begins anew, and is replayed", counts(newDraft("rewind-replayed", "")), replaces("replays")),
	}
}

// rewound checks the parameter of rewind, and takes what it says as the number of accepted tokens.
func rewound(d *draft, accepted int) []byte {
	return join([][]byte{d.like("rewind gives the history's length", p.Local(0), d.history()), d.generated(), p.SetGlobal(accepted)})
}
