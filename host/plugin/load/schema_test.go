// SPDX-License-Identifier: MIT

package load_test

import (
	"context"
	"errors"
	"strconv"
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

func withSchema(schema string) *asm.Guest {
	return asm.New(`{"name":"guest","config_schema":` + schema + `}`)
}

func TestPlugin_CheckConfig_FillsInDefaults(t *testing.T) {
	const nested = `{"type":"object","properties":{
		"p":{"type":"number","maximum":1,"default":0.05},
		"text":{"type":"string","default":"<a & b>"},
		"big":{"default":123456789012345678901234567890},
		"plain":{"type":"string"},
		"inner":{"type":"object","properties":{"x":{"default":null},"y":{"default":[1,{"z":2}]}}},
		"whole":{"type":"object","default":{"given":true},"properties":{"given":{},"q":{"default":"deep"}}},
		"list":{"type":"array","prefixItems":[{"properties":{"first":{"default":1}}}],"items":{"properties":{"other":{"default":2}}}},
		"named":{"$ref":"#/$defs/named"},
		"either":{"anyOf":[{"properties":{"never":{"default":1}}},true]}
	},"allOf":[{"properties":{"also":{"default":false}}}],"$defs":{"named":{"type":"integer","default":7}}}`
	const all = `"also":false,"big":123456789012345678901234567890,`
	for config, want := range map[string]string{
		``: `{` + all + `"named":7,"p":0.05,"text":"<a & b>","whole":{"given":true,"q":"deep"}}`,
		`{"p":1.0e-2,"text":"","inner":{},"named":8,"whole":{}}`: `{` + all + `"inner":{"x":null,"y":[1,{"z":2}]},"named":8,"p":1.0e-2,"text":"","whole":{"q":"deep"}}`,
		`{"list":[{},{},3],"either":{},"whole":{"q":null}}`:      `{` + all + `"either":{},"list":[{"first":1},{"other":2},3],"named":7,"p":0.05,"text":"<a & b>","whole":{"q":null}}`,
	} {
		m := hosttest.Load(t, hosttest.Open(t, load.New), withSchema(nested))
		for range 2 { // the schema's own values are not written to
			if got, err := m.CheckConfig([]byte(config)); err != nil || string(got) != want {
				t.Errorf("%s: got %s, want %s: %v", config, got, want, err)
			}
		}
	}
}

func TestPlugin_CheckConfig_AcceptsNoMoreAndNoLess(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), withSchema(`{"required":["p"],"properties":{"p":{"default":1}},"maxProperties":2}`))
	if _, err := m.CheckConfig(nil); !errors.Is(err, plugin.ErrConfig) {
		t.Errorf("a default stood in for what is required: %v", err)
	}
	m = hosttest.Load(t, hosttest.Open(t, load.New), withSchema(`{"properties":{"a":{"default":1},"b":{"default":2}},"maxProperties":2}`))
	given := `{"c": 3, "d": 4}`
	if got, err := m.CheckConfig([]byte(given)); err != nil || string(got) != given {
		t.Errorf("where defaults do not fit: got %s: %v", got, err)
	}
	plain := hosttest.Load(t, hosttest.Open(t, load.New), withSchema(`{"properties":{"a":{}}}`))
	if got, err := plain.CheckConfig([]byte(`{ "a": 1 }`)); err != nil || string(got) != `{ "a": 1 }` {
		t.Errorf("without a default: got %s: %v", got, err)
	}
}

func TestLoader_RefusesDefaultsThatDoNotFit(t *testing.T) {
	l := hosttest.Open(t, load.New)
	grows := `{"properties":{"a":{"$ref":"#/$defs/x0"}},"$defs":{`
	for i := range 40 {
		next := strconv.Itoa(i + 1)
		grows += `"x` + strconv.Itoa(i) + `":{"default":{},"properties":{"a":{"$ref":"#/$defs/x` + next + `"},"b":{"$ref":"#/$defs/x` + next + `"}}},`
	}
	grows += `"x40":{}}}`
	// Each of these defaults is small enough; an empty configuration has none of them.
	manyOfThem := `{"properties":{"l":{"items":{"properties":{`
	for i := range 30 {
		manyOfThem += `"p` + strconv.Itoa(i) + `":{"default":{},"$ref":"#/$defs/x28"},`
	}
	manyOfThem += `"q":{}}}}},` + grows[strings.Index(grows, `"$defs"`):]
	for schema, want := range map[string]string{
		`{"properties":{"min_p":{"type":"number","maximum":1,"default":2}}}`:                                             "the default at /properties/min_p: maximum",
		`{"properties":{"o":{"properties":{"s":{"type":"string","default":1}}}}}`:                                        "the default at /properties/o/properties/s: got number, want string",
		`{"properties":{"o":{"default":{"s":1},"properties":{"s":{"type":"string"}}}}}`:                                  "the default at /properties/o: s: got number, want string",
		`{"properties":{"o":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"integer","default":"x"}}}`:                       "the default at /$defs/d: got string, want integer",
		`{"properties":{"o":{"default":{},"maxProperties":0,"properties":{"s":{"default":1}}}}}`:                         "the default at /properties/o: maxProperties",
		`{"maxProperties":1,"properties":{"a":{"default":1},"b":{"default":1}}}`:                                         "with its defaults {} does not fit any more",
		`{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"default":{},"properties":{"a":{"$ref":"#/$defs/d"}}}}}`: "too many or too deep",
		grows:      "too many or too deep",
		manyOfThem: "too many or too deep",
	} {
		p, err := l.Load(context.Background(), withSchema(schema).Wasm())
		if err == nil {
			p.Release()
		}
		if !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
	p, err := l.Load(context.Background(), withSchema(`{"anyOf":[{"properties":{"a":{"type":"string","default":1}}}]}`).Wasm())
	if err != nil {
		t.Fatalf("a default that is never filled in: %v", err)
	}
	p.Release()
}

// Large defaults in many objects would be more than the process can hold.
func TestPlugin_CheckConfig_BoundsWhatItFillsIn(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New),
		withSchema(`{"properties":{"l":{"items":{"properties":{"a":{"default":"`+strings.Repeat("x", 60_000)+`"}}}}}}`))
	if _, err := m.CheckConfig([]byte(`{"l":[{}]}`)); err != nil {
		t.Error(err)
	}
	if _, err := m.CheckConfig([]byte(`{"l":[` + strings.Repeat("{},", 20_000) + `{}]}`)); !errors.Is(err, plugin.ErrConfig) {
		t.Errorf("got %v", err)
	}
}
