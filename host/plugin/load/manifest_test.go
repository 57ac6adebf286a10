// SPDX-License-Identifier: MIT

package load

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
)

func TestManifest_Place_FollowsTheView(t *testing.T) {
	for text, want := range map[string]Place{
		`{"name":"a"}`: PlaceLast, `{"name":"a","view":"none"}`: PlaceFirst, `{"name":"a","view":"logits"}`: PlaceFirst,
		`{"name":"a","place":"first"}`: PlaceFirst, `{"name":"a","view":"none","place":"last"}`: PlaceLast,
	} {
		if m, err := ParseManifest([]byte(text), []string{abi.ExportSample}); err != nil || m.Place != want {
			t.Errorf("%s: %q, %v; want %q", text, m.Place, err, want)
		}
	}
}

func TestParseManifest_Defaults(t *testing.T) {
	with, err := ParseManifest([]byte(`{"name":"a"}`), []string{abi.ExportSample})
	if err != nil || with.View != ViewCandidates || with.Candidates != 256 || with.Hold != 0 {
		t.Errorf("%+v, %v", with, err)
	}
	if without, err := ParseManifest([]byte(`{"name":"a"}`), nil); err != nil || without.View != ViewNone {
		t.Errorf("%+v, %v", without, err)
	}
}

func TestParseManifest_Refuses(t *testing.T) {
	deep := func(n int) string {
		return `{"name":"a","config_schema":` + strings.Repeat(`{"not":`, n) + `{}` + strings.Repeat(`}`, n) + `}`
	}
	for text, want := range map[string]string{
		`{}`:             `name is ""`,
		`{"name":"A"}`:   "[a-z0-9]",
		`{"name":"a/b"}`: "[a-z0-9]",
		`{"name":"` + strings.Repeat("a", 65) + `"}`:  "[a-z0-9]",
		`{"name":"a","view":"all"}`:                   `view is "all"`,
		`{"name":"a","candidates":0}`:                 "candidates is 0",
		`{"name":"a","candidates":4097}`:              "candidates is 4097",
		`{"name":"a","hold":-1}`:                      "hold is -1",
		`{"name":"a","hold":257}`:                     "hold is 257",
		`{"name":"a","hold":1.5}`:                     "hold",
		`{"name":"a","place":"middle"}`:               `place is "middle"`,
		`{"name":"a","view":"logits","place":"last"}`: "must stand before",
		`{"name":"a"}{}`:                              "one JSON object",
		`{"name":"a"`:                                 "one JSON object",
		`[]`:                                          "array",
		"{\"name\":\"\xff\"}":                         "UTF-8",
		deep(80):                                      "64 levels",
		`{"name":"a","summary":"` + strings.Repeat("a", 2000) + `"}`: "1024 bytes",
	} {
		if _, err := ParseManifest([]byte(text), []string{abi.ExportSample}); !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	if _, err := ParseManifest([]byte(deep(60)), []string{abi.ExportSample}); err != nil {
		t.Errorf("60 levels: %v", err)
	}
}

func TestCompileSchema_Refuses(t *testing.T) {
	for _, text := range []string{`{"type":"strange"}`, `{"pattern":"("}`, `7`, `{"$ref":"#/nowhere"}`} {
		if _, err := compileSchema([]byte(text)); !errors.Is(err, plugin.ErrManifest) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// FuzzParseManifest checks that whatever is accepted is within bounds, stays what it is when it is
// written and read again, and can be compiled or refused in order.
func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a"}`, `{"name":"a","view":"logits","candidates":4096,"hold":256}`, `{"name":"a","config_schema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`,
		`{"name":"a","name":"b"}`, `[]`, `{"name":"a"} x`, `{"name":"a","config_schema":{"pattern":"(a+)+$"}}`, `{"name":"a","config_schema":true}`,
	} {
		f.Add([]byte(seed), []byte(`{"x":1}`))
	}
	f.Fuzz(func(t *testing.T, text, config []byte) {
		m, err := ParseManifest(text, []string{abi.ExportSample})
		if err != nil {
			return
		}
		if !ValidName(m.Name) || m.Candidates < 1 || m.Candidates > 4096 || m.Hold < 0 || m.Hold > 256 {
			t.Errorf("accepted %+v", m)
		}
		written := must.Get(json.Marshal(m))(t)
		again, err := ParseManifest(written, []string{abi.ExportSample})
		if err != nil || string(must.Get(json.Marshal(again))(t)) != string(written) {
			t.Errorf("%s became %s: %v", written, must.Get(json.Marshal(again))(t), err)
		}
		schema, err := NewSchema(m.ConfigSchema)
		if err != nil {
			return
		}
		filled, err := schema.Check(config)
		if err != nil {
			return
		}
		if !json.Valid(config) && len(config) > 0 {
			t.Errorf("accepted the configuration %q", config)
		}
		if again, err := schema.Check(filled); err != nil || string(again) != string(filled) {
			t.Errorf("%s with its defaults is %s, and that %s: %v", config, filled, again, err)
		}
	})
}

// Whatever a plan says, it is no wider than the manifest.
func FuzzPlan_Narrows(f *testing.F) {
	for _, text := range []string{`{}`, `{"hold":2,"candidates":40,"view":"candidates","place":"last","take_back":0}`, `{"hold":99}`, `{"view":"rows"}`,
		`{"needs":["note"],"summary":"s","config_schema":{}}`, `{"branches":1,"implements":[]}`, `{"name":"x"}`, `[]`, `null`, `{"hold":1e400}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := Manifest{Name: "guest", View: ViewLogits, Place: PlaceFirst, Candidates: 100, Hold: 9, TakeBack: 50, Branches: 4}
		was := m
		var s planned
		if s.read(text) != nil || s.narrowNumbers(&m, was.View) != nil {
			return
		}
		if m.Candidates < 1 || m.Candidates > was.Candidates || m.TakeBack < 0 || m.TakeBack > was.TakeBack || m.Branches < 1 || m.Branches > was.Branches ||
			breadth[m.View] > breadth[was.View] || m.Name != was.Name || m.StrictMask {
			t.Errorf("%s makes it %+v", text, m)
		}
	})
}
