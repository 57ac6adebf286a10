// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"testing"
)

func TestUnmarshal_IntegersHoweverWritten(t *testing.T) {
	for text, want := range map[string]int{`5`: 5, `5.0`: 5, `1e1`: 10, `-2.50e2`: -250, `0.0`: 0} {
		var v struct {
			A int             `json:"a"`
			B *uint8          `json:"b"`
			C json.RawMessage `json:"c"`
		}
		if err := Unmarshal([]byte(`{"c":5.0,"a": `+text+` ,"b":7.0}`), &v); err != nil || v.A != want || v.B == nil || *v.B != 7 || string(v.C) != "5.0" {
			t.Errorf("%s: %v %+v", text, err, v)
		}
	}
	for _, text := range []string{`5.5`, `1e300`, `1e-1`, `9007199254740994.0`, `"5.0"`, `true`} {
		var v struct {
			A int `json:"a"`
		}
		if err := Unmarshal([]byte(`{"a":`+text+`}`), &v); err == nil {
			t.Errorf("%s is taken for %d", text, v.A)
		}
	}
}
