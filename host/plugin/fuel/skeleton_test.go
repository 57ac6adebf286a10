// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// A skeleton is the module in everything but its code, which traps.
func TestSkeleton_HasAllButTheCode(t *testing.T) {
	g := guest{memory: []byte{0, 1}, table: []byte{0x70, 0, 2}, globals: 1, elems: []byte{0, 1}, data: "text", start: 1, funcs: []fn{
		{code: bytes.Repeat([]byte{0x01}, 1000)},
		{name: "sum", params: "ii", results: "i", locals: locals(1, "i32"), code: seq(opLocalGet, 0, opLocalGet, 1, 0x6a)},
	}}
	whole, err := Rewrite(g.wasm(), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	skeleton := Skeleton(whole.Wasm)
	of, err := split(whole.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	in, err := split(skeleton)
	if err != nil {
		t.Fatal(err)
	}
	for id := range sections {
		a, b := of.body[id], in.body[id]
		if (a == nil) != (b == nil) || a != nil && id != secCode && !bytes.Equal(a.data, b.data) {
			t.Errorf("section %d differs", id)
		}
	}
	if len(skeleton) > len(whole.Wasm)-1000 {
		t.Errorf("%d of %d bytes are left", len(skeleton), len(whole.Wasm))
	}
	m, err := newRuntime(t).InstantiateWithConfig(context.Background(), skeleton, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("sum").Call(context.Background(), 1, 2); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("got %v", err)
	}
}
