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
