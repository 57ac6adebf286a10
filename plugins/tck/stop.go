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
