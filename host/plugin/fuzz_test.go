// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
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
		if !ValidName(m.Name) || m.Candidates < 1 || m.Candidates > 4096 || m.Hold < 0 || m.Hold > 256 {
			t.Errorf("accepted %+v", m)
		}
		schema, err := compileSchema(m.ConfigSchema)
		if err != nil {
			return
		}
		module := &Module{schema: schema}
		if err := module.CheckConfig(config); err == nil && !json.Valid(config) && len(config) > 0 {
			t.Errorf("accepted the configuration %q", config)
		}
	})
}

// FuzzRuntime_Load checks that no module takes the host down, whatever its bytes.
func FuzzRuntime_Load(f *testing.F) {
	for _, g := range []*guestModule{plain(), warmed(), candidates(), counting(true), echoing(), accepting(splice(1, 2), i32(2))} {
		f.Add(g.Wasm())
	}
	r := newTestRuntime(f, func(o *Options) { o.Limits.SetupFuel = 1 << 20 })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := r.Load(context.Background(), wasm)
		if err != nil {
			return
		}
		defer m.Release()
		s, err := m.NewStage(Request{})
		if err != nil {
			return
		}
		if s.Rewind([]int32{1, 2}, 1) == nil { // errors are the guest's, and fine
			_, _ = s.Prepare()
			_ = s.Apply(raw(ramp()))
			_, _ = s.Accept(3)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
