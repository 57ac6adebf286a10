// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Only lists of types are written otherwise.
func TestWithoutTypeLists(t *testing.T) {
	for in, want := range map[string]string{
		`[{"a":{"type":["number","string"],"enum":[1.50,"xé"]}}, 7]`: `[{"a":{"anyOf":[{"type":"number"},{"type":"string"}],"enum":[1.50,"xé"]}},7]`,
		`[{"properties":{"type":{"type":["string"]}},"type":[1]}]`:   `[{"properties":{"type":{"anyOf":[{"type":"string"}]}},"type":[1]}]`,
		`[["type",["x"]],{"enum":["type",["y"]],"a":"type","b":{}}]`: `[["type",["x"]],{"enum":["type",["y"]],"a":"type","b":{}}]`,
		`{"type":"object","type":[],"x":null,"y":true,"z":-1e400}`:   `{"type":"object","type":[],"x":null,"y":true,"z":-1e400}`,
	} {
		got := WithoutTypeLists(json.RawMessage(in))
		if string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What is nested within members of the name type is written once, not once for each of them.
func TestWithoutTypeLists_Nested_CopiedOnce(t *testing.T) {
	const size = 1 << 20
	allocated := func(depth int) uint64 {
		tools := []byte(strings.Repeat(`{"type":`, depth) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("}", depth))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := WithoutTypeLists(tools); string(got) != string(tools) {
			t.Errorf("%d deep: it became other tools", depth)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if flat, deep := allocated(1), allocated(90); deep > 2*flat {
		t.Errorf("%d bytes are made of one level, %d of 90", flat, deep)
	}
}
