// SPDX-License-Identifier: MIT

package fuel

import (
	"errors"
	"slices"
	"testing"
)

// busyGuest has an instruction of most kinds, in places that run.
func busyGuest() guest {
	return guest{
		memory: []byte{1, 1, 4}, table: []byte{typeFuncref, 1, 2, 9}, globals: 2, elems: []byte{0, 1}, data: "some data", start: 3,
		funcs: []fn{
			{name: "swap", params: "iI", results: "Ii", code: seq(opLocalGet, 1, opLocalGet, 0)},
			{name: "run", params: "i", results: "i", locals: slices.Concat(locals(2, "i64"), locals(1, "v128")), code: seq(
				opBlock, emptyBlock, opBlock, emptyBlock, opBlock, emptyBlock,
				opLocalGet, 0, 0x0e, 2, 0, 1, 2, opEnd,
				i32c(0), i32c(0), i32c(9), 0xfc, 8, 0, 0, opEnd,
				opLoop, emptyBlock, opLocalGet, 0, i32c(-1), 0x6a, opLocalTee, 0, i32c(0), 0x4a, opBrIf, 0, opEnd, opEnd,
				opLocalGet, 0, opIf, typeI32, i32c(4), 0x05, i32c(5), opEnd,
				opGlobalGet, 1, 0x6a, opGlobalSet, 0,
				i32c(3), i64c(1<<40), i32c(0), 0x11, 0, 0, 0x1a, opLocalSet, 1,
				i32c(16), 0xfd, 0, 4, 0, 0xfd, 12, make([]byte, 16), 0xfd, 0xae, 1, opLocalTee, 3, 0xfd, 0x1b, 1,
				i32c(64), i32c(7), i32c(100), 0xfc, 11, 0,
				i32c(1), 0x40, 0, 0x6a, 0xd0, typeFuncref, i32c(2), 0xfc, 15, 0, 0x6a,
				opGlobalGet, 0, 0x6a)},
			{name: "init", code: seq(i32c(7), opGlobalSet, 1, opReturn)},
			{name: "sink", params: "fF", results: "r", code: seq(0x43, make([]byte, 4), 0x1a, 0xd2, 0)},
		},
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add(busyGuest().wasm())
	for _, c := range endless {
		if wasm := c.guest.wasm(); len(wasm) < 1000 { // larger ones take the fuzzer long to minimise
			f.Add(wasm)
		}
	}
	r := judge(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, err := Rewrite(wasm, DefaultLimits())
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrLimit) {
			t.Errorf("error of no kind: %v", err)
		}
		mustNotCrash(t, r, wasm)
	})
}
