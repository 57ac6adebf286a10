// SPDX-License-Identifier: MIT

package load_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/asm"
)

func TestPlugin_CheckConfig_NamesTheField(t *testing.T) {
	schema := `{"type":"object","required":["p"],"additionalProperties":false,"properties":{
		"p":{"type":"number","minimum":0,"maximum":1},"list":{"type":"array","items":{"type":"string"}}}}`
	m := hosttest.Load(t, hosttest.Open(t, load.New), asm.New(`{"name":"guest","config_schema":`+schema+`}`))
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
		_, err := m.CheckConfig([]byte(config))
		if (want == "") != (err == nil) || (err != nil && (!errors.Is(err, plugin.ErrConfig) || !strings.Contains(err.Error(), want))) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

// What a schema says to be writeOnly is a secret, which no error has, and so no log.
func TestPlugin_CheckConfig_TellsNoSecret(t *testing.T) {
	schema := `{"$defs":{"key":{"type":"string","pattern":"^[0-9]+$","writeOnly":true},"loop":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/loop"}}},{"properties":{"x":{"$ref":"#/$defs/loop"}}},{"maxLength":3}]}},
		"properties":{"key":{"pattern":"^[0-9]+$","writeOnly":true},"its":{"$ref":"#/$defs/key"},"all":{"writeOnly":true,"properties":{"a":{"maxLength":3,"pattern":"x"}}},
		"keys":{"type":"array","items":{"$ref":"#/$defs/key"}},"loop":{"$ref":"#/$defs/loop"},"plain":{"pattern":"x"}},"additionalProperties":{"$ref":"#/$defs/key"}}`
	m := hosttest.Load(t, hosttest.Open(t, load.New), asm.New(`{"name":"guest","config_schema":`+schema+`}`))
	for config, want := range map[string]string{
		`{"key":"swordfish"}`:        "config.key: it does not fit",
		`{"its":"swordfish"}`:        "config.its: it does not fit",
		`{"all":{"a":"swordfish"}}`:  "config.all.a: it does not fit",
		`{"keys":["1","swordfish"]}`: "config.keys[1]: it does not fit",
		`{"other":"swordfish"}`:      "config.other: it does not fit",
		`{"plain":"swordfish"}`:      "config.plain: 'swordfish' does not match",
		`{"loop":` + strings.Repeat(`{"x":`, 9) + `"long"` + strings.Repeat("}", 10): "config.loop.x",
	} {
		_, err := m.CheckConfig([]byte(config))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "swordfish") != strings.Contains(config, "plain") {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

func TestPlugin_CheckConfig_AssertsFormats(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), asm.New(`{"name":"guest","config_schema":{"properties":{"from":{"format":"date"},"x":{"format":"heard-of-nowhere"}}}}`))
	for config, want := range map[string]string{
		`{"from":"2024-02-29","x":"y"}`: "",
		`{"from":"2023-02-29"}`:         "config.from: '2023-02-29' is not valid date",
		`{"from":"soon"}`:               "config.from: 'soon' is not valid date",
	} {
		_, err := m.CheckConfig([]byte(config))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

func TestPlugin_CheckConfig_AnythingWithoutASchema(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), hosttest.Plain())
	if got, err := m.CheckConfig([]byte(`{"x":[1,{}]}`)); err != nil || string(got) != `{"x":[1,{}]}` {
		t.Error(string(got), err)
	}
	if _, err := m.CheckConfig([]byte(`7`)); err == nil {
		t.Error("a number was taken")
	}
}
