// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
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
