// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/tetratelabs/wazero"
)

// lined is a module with a section .debug_line.
func lined(wasm, section []byte) []byte {
	return appendSection(slices.Clone(wasm), secCustom, append(appendName(nil, ".debug_line"), section...))
}

// What a section .debug_line holds is not read.
func TestRewrite_Lines_ChangeNothing(t *testing.T) {
	plain, err := Rewrite(busyGuest().wasm(), DefaultLimits())
	if err != nil || len(plain.Moves) > 0 {
		t.Fatalf("%d moves, %v", len(plain.Moves), err)
	}
	for name, section := range map[string][]byte{"none": {}, "zeros": make([]byte, 100), "ones": bytes.Repeat([]byte{0xff}, 1000)} {
		m, err := Rewrite(lined(busyGuest().wasm(), section), DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(m.Wasm, slices.Concat(plain.Wasm, anyPlace)) || len(m.Moves) == 0 {
			t.Errorf("%s: the module differs, or has no moves", name)
		}
	}
}

// A trap of the metered module is where that of the original is, and so are the calls that led
// there: each offset is in the same instruction.
func TestMoves_Original_IsTheOriginalsPlace(t *testing.T) {
	work := seq(opLoop, emptyBlock, opLocalGet, 0, i32c(-1), 0x6a, opLocalTee, 0, i32c(0), 0x4a, opBrIf, 0, opEnd)
	const longest = 6 // bytes of an instruction here
	wasm := guest{memory: []byte{0, 1}, funcs: []fn{
		{params: "ii", results: "i", code: seq(work, opLocalGet, 0, opLocalGet, 1, 0x6d)}, // divides by its second
		{params: "i", code: seq(work, i32c(5), i32c(1), opCall, 0, 0x1a, i32c(0), i32c(0), i32c(9), 0xfc, 11, 0, i32c(5), i32c(0), opCall, 0, 0x1a, work)},
		{name: "run", code: seq(i32c(3), opIf, emptyBlock, i32c(100), opCall, 1, opEnd, opUnreachable)},
	}}.wasm()
	original, err := wazero.NewRuntime(t.Context()).Instantiate(t.Context(), slices.Concat(wasm, anyPlace))
	if err != nil {
		t.Fatal(err)
	}
	defer original.Close(context.Background()) //nolint:errcheck // nothing was written
	_, err = original.ExportedFunction("run").Call(t.Context())
	want := offsetsIn(t, err)
	m := instantiate(t, newRuntime(t), lined(wasm, nil))
	_, _, err = m.call("run")
	got := offsetsIn(t, err)
	if len(want) != 3 || len(got) != 3 {
		t.Fatalf("%x, want %x: %v", got, want, err)
	}
	for i, metered := range got {
		at, ok := m.info.Moves.Original(metered)
		if !ok || i == 0 && at != want[i] || max(at, want[i])-min(at, want[i]) >= longest {
			t.Errorf("call %d: %#x (metered %#x), want %#x", i, at, metered, want[i])
		}
	}
	if _, ok := m.info.Moves.Original(0); ok {
		t.Error("what is before all code has a place")
	}
}

// offsetsIn are the offsets of the calls in a trap's trace.
func offsetsIn(t *testing.T, err error) (all []uint32) {
	t.Helper()
	if err == nil {
		t.Fatal("no trap")
	}
	for _, m := range regexp.MustCompile(`0x([0-9a-f]+): \?`).FindAllStringSubmatch(err.Error(), -1) {
		n := must.Get(strconv.ParseUint(m[1], 16, 32))(t)
		all = append(all, uint32(n))
	}
	return all
}
