// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
)

// stopCases are about stop rules.
func stopCases() []Case {
	const total = 1 // bytes of text so far
	sum := join([][]byte{p.Global(total), p.Local(1), p.Add, p.SetGlobal(total)})
	rule := func(name string, code func(d *draft) []byte) *draft {
		d := newDraft(name, "")
		return d.open(d.bind(abi.BufferText)).on(abi.ExportStop, sum,
			d.must("text fits the buffer", p.Local(1), p.I32(textSize+1), p.Less), code(d))
	}
	// from is an answer from the third token on; before it is another.
	from := func(before, then []byte) func(d *draft) []byte {
		return func(d *draft) []byte {
			return join([][]byte{d.generated(), p.I32(3), p.Less, p.When(before, p.Return), then})
		}
	}
	all := join([][]byte{p.I32(-1), p.Global(total), p.Subtract})
	return []Case{
		unchanged("0 shows the text; it comes in whole characters", rule("stop-shows", func(d *draft) []byte {
			continuation := [][]byte{p.I32(atText), p.LoadByte, p.I32(0xc0), p.And, p.I32(0x80), p.Equal}
			return join([][]byte{p.Local(1), p.When(d.must("text begins with a character", join(continuation), p.EqualZero)), p.I32(abi.StopShow)})
		})),
		stopped("1 ends, and shows the text", 3, Prefix, rule("stop-ends", from(p.I32(abi.StopShow), p.I32(abi.StopEnd)))),
		stopped("2 ends, and hides what was held", 3, Empty, rule("stop-hides", from(p.I32(abi.StopHold), p.I32(abi.StopHide)))),
		stopped("2 hides nothing that was shown", 3, Prefix, rule("stop-hides-last", from(p.I32(abi.StopShow), p.I32(abi.StopHide)))),
		stopped("−1 shows none of what was held", 3, Empty, rule("stop-none", from(p.I32(abi.StopHold), p.I32(-1)))),
		stopped("−n−1 shows n bytes of it", 3, Prefix, rule("stop-part", from(p.I32(abi.StopHold), all))),
		unchanged("at the end held text is shown", rule("stop-holds", func(*draft) []byte { return p.I32(abi.StopHold) })),
		stopped("of several stop rules one is enough", 3, Prefix, rule("stop-both", from(p.I32(abi.StopShow), p.I32(abi.StopEnd))),
			rule("stop-other", func(*draft) []byte { return p.I32(abi.StopShow) })),
	}
}
