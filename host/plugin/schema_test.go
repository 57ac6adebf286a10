// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"strings"
	"testing"
)

func TestModule_CheckConfig_NamesTheField(t *testing.T) {
	schema := `{"type":"object","required":["p"],"additionalProperties":false,"properties":{
		"p":{"type":"number","minimum":0,"maximum":1},"list":{"type":"array","items":{"type":"string"}}}}`
	m := mustLoad(t, newTestRuntime(t), newGuest(`{"name":"guest","config_schema":`+schema+`}`))
	for config, want := range map[string]string{
		`{"p":0.5}`:                       "",
		`{"p":1,"list":["a"]}`:            "",
		``:                                "missing property",
		`{}`:                              "config: missing property 'p'",
		`{"p":2}`:                         "config.p: maximum",
		`{"p":0,"list":["a",1]}`:          "config.list[1]: got number, want string",
		`{"p":0,"q":1}`:                   "additional properties 'q'",
		`[]`:                              "config: it must be a JSON object",
		`{"p":1} {}`:                      "one JSON object",
		`{"p":` + strings.Repeat("[", 80): "deeply nested",
		"\xff":                            "one JSON object",
	} {
		err := m.CheckConfig([]byte(config))
		if (want == "") != (err == nil) || (err != nil && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want))) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

func TestModule_CheckConfig_AnythingWithoutASchema(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), plain())
	if err := m.CheckConfig([]byte(`{"x":[1,{}]}`)); err != nil {
		t.Error(err)
	}
	if err := m.CheckConfig([]byte(`7`)); err == nil {
		t.Error("a number was taken")
	}
}

func TestParseManifest_Defaults(t *testing.T) {
	with, err := parseManifest([]byte(`{"name":"a"}`), true)
	if err != nil || with.View != ViewCandidates || with.Candidates != 256 || with.Hold != 0 {
		t.Errorf("%+v, %v", with, err)
	}
	if without, err := parseManifest([]byte(`{"name":"a"}`), false); err != nil || without.View != ViewNone {
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
		if _, err := parseManifest([]byte(text), true); !errors.Is(err, ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	if _, err := parseManifest([]byte(deep(60)), true); err != nil {
		t.Errorf("60 levels: %v", err)
	}
}

func TestCompileSchema_Refuses(t *testing.T) {
	for _, text := range []string{`{"type":"strange"}`, `{"pattern":"("}`, `7`, `{"$ref":"#/nowhere"}`} {
		if _, err := compileSchema([]byte(text)); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
