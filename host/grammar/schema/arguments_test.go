// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
)

// writes makes the grammar of one argument of a tool.
func writes(t *testing.T, schema string, of func(a *Arguments) (grammar.Body, error)) *grammar.Grammar {
	t.Helper()
	b := grammar.NewBuilder()
	a := must.Get(ReadArguments(b, json.RawMessage(schema), Options{}))(t)
	must.Get(a.Alternatives())(t)
	body := must.Get(of(a))(t)
	must.Get(a.Finish())(t)
	root := b.Rule()
	b.Define(root, body)
	g, err := b.Build(root)
	if errors.Is(err, grammar.ErrVoid) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestArguments_Text(t *testing.T) {
	const end = "\n</parameter>\n"
	for name, c := range map[string]struct {
		schema, path string
		json         Kinds
		right, wrong []string
	}{
		"string":       {`{"type":"string","maxLength":6}`, "", 0, []string{``, `a "b"`, "é\n</p", "a\nb"}, []string{"a\n</parameter>\nb", `1234567`, "\n</parameter>"}},
		"pattern":      {`{"type":"string","pattern":"^[0-9]{2}\"$"}`, "", 0, []string{`08"`}, []string{`"08\""`, `08\"`}},
		"enum":         {`{"enum":["red","dark \"red\"",3,null]}`, "", 0, []string{`red`, `dark "red"`}, []string{`"red"`, `3`, `null`, `4`}},
		"no string":    {`{"type":"integer"}`, "", 0, []string{`3`}, []string{`x`}},
		"beside JSON":  {`{"type":["string","integer"],"minimum":5}`, "", AllKinds, []string{`x`, `3x`, ``}, []string{`3`, `7`, `1e5`, `null`, `"x"`, `[1]`, `{}`}},
		"any":          {`{}`, "", AllKinds, []string{`x`, `{}`, `3`}, nil},
		"within":       {`{"type":"object","properties":{"b":{"items":{"type":"string","maxLength":2}}}}`, "/b/*", 0, []string{`xy`}, []string{`xyz`}},
		"alternatives": {`{"anyOf":[{"const":"a"},{"type":"string","pattern":"^b"}]}`, "", 0, []string{`a`, `bc`}, []string{`c`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := writes(t, `{"type":"object","properties":{"a":`+c.schema+`}}`, func(a *Arguments) (grammar.Body, error) {
				path := strings.Split(strings.ReplaceAll("a"+c.path, "*", Item), "/")
				return a.Text(-1, path, Tag{Ends: []string{end}, JSON: c.json})
			})
			for _, text := range c.right {
				if !allows(t, g, text) {
					t.Errorf("%q is forbidden", text)
				}
			}
			for _, text := range c.wrong {
				if allows(t, g, text) {
					t.Errorf("%q is allowed", text)
				}
			}
		})
	}
}

func TestArguments_Value(t *testing.T) {
	const both = `{"$ref":"#/$defs/x","$defs":{"x":{"allOf":[{"properties":{"a":{"type":["string","integer"]}}},{"properties":{"a":{"minimum":5}}}]}}}`
	g := writes(t, both, func(a *Arguments) (grammar.Body, error) { return a.Value(0, []string{"a"}, AllKinds&^Strings) })
	for text, want := range map[string]bool{`5`: true, `4`: false, `"x"`: false} {
		if allows(t, g, text) != want {
			t.Errorf("%s: allowed is %v", text, !want)
		}
	}
	if g := writes(t, `{"properties":{"a":false}}`, func(a *Arguments) (grammar.Body, error) { return a.Value(-1, []string{"a"}, AllKinds) }); g != nil {
		t.Error("an argument that may not be there has a value")
	}
}

// Alternatives with the same arguments are one, whichever of them must be there.
func TestArguments_Alternatives(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   [][]Ending
	}{
		"required": {`{"properties":{"a":{},"b":{}},"required":["b"],"maxProperties":2}`, [][]Ending{{{Must: []string{"b"}, Max: 2}}}},
		"one of two": {`{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			[][]Ending{{{Must: []string{"a"}, Max: lexeme.Unbounded}, {Must: []string{"b"}, Max: lexeme.Unbounded}}}},
		"two kinds": {`{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"a":{"const":2}}}]}`,
			[][]Ending{{{Must: []string{"a"}, Max: lexeme.Unbounded}}, {{Max: lexeme.Unbounded}}}},
	} {
		a := must.Get(ReadArguments(grammar.NewBuilder(), json.RawMessage(c.schema), Options{}))(t)
		got, err := a.Alternatives()
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	a := must.Get(ReadArguments(grammar.NewBuilder(), json.RawMessage(`{"enum":[{"a":1},{"b":2}]}`), Options{}))(t)
	var bad *Error
	if _, err := a.Alternatives(); !errors.As(err, &bad) || !bad.Unenforceable {
		t.Errorf("objects to choose from: %v", err)
	}
}
