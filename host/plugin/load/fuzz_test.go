// SPDX-License-Identifier: MIT

package load

import (
	"encoding/json"
	"testing"
)

// FuzzParseManifest checks that whatever is accepted is within bounds and can be compiled or refused in order.
func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a"}`, `{"name":"a","view":"logits","candidates":4096,"hold":256}`, `{"name":"a","config_schema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`,
		`{"name":"a","name":"b"}`, `[]`, `{"name":"a"} x`, `{"name":"a","config_schema":{"pattern":"(a+)+$"}}`, `{"name":"a","config_schema":true}`,
	} {
		f.Add([]byte(seed), []byte(`{"x":1}`))
	}
	f.Fuzz(func(t *testing.T, text, config []byte) {
		m, err := parseManifest(text, true)
		if err != nil {
			return
		}
		if !validName(m.Name) || m.Candidates < 1 || m.Candidates > 4096 || m.Hold < 0 || m.Hold > 256 {
			t.Errorf("accepted %+v", m)
		}
		schema, err := compileSchema(m.ConfigSchema)
		if err != nil {
			return
		}
		loaded := &Plugin{schema: schema}
		if err := loaded.CheckConfig(config); err == nil && !json.Valid(config) && len(config) > 0 {
			t.Errorf("accepted the configuration %q", config)
		}
	})
}
