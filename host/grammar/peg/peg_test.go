// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/tools/must"
)

// built is the grammar of a parser whose root is its last part.
func built(t *testing.T, f Format, parts ...string) (*grammar.Grammar, error) {
	t.Helper()
	root := must.Get(json.Marshal(len(parts) - 1))(t)
	f.Parser = `{"parsers":[` + strings.Join(parts, ",") + `],"rules":{"begin":` + string(root) + `},"root":` + string(root) + `}`
	b := grammar.NewBuilder()
	whole, _, err := Add(b, &f, gbnf.Tokens{})
	if err != nil {
		return nil, err
	}
	return b.Build(whole)
}

func TestAdd_Parts(t *testing.T) {
	literal := func(text string) string { return `{"type":"literal","literal":"` + text + `"}` }
	for name, c := range map[string]struct {
		parts        []string
		right, wrong []string
	}{
		"sequence":   {[]string{literal("a"), literal("b"), `{"type":"sequence","children":[0,1]}`}, []string{"ab"}, []string{"a", "ba"}},
		"choice":     {[]string{literal("a"), literal("b"), `{"type":"choice","children":[0,1]}`}, []string{"a", "b"}, []string{"ab", ""}},
		"repetition": {[]string{literal("a"), `{"type":"repetition","child":0,"min_count":1,"max_count":2}`}, []string{"a", "aa"}, []string{"", "aaa"}},
		"characters": {[]string{`{"type":"chars","ranges":[{"start":97,"end":99}],"negated":false,"min_count":1,"max_count":-1}`}, []string{"abc"}, []string{"d", ""}},
		"others":     {[]string{`{"type":"chars","ranges":[{"start":97,"end":99}],"negated":true,"min_count":0,"max_count":1}`}, []string{"d", ""}, []string{"a", "dd"}},
		"until":      {[]string{`{"type":"until","delimiters":["</a>","<b>"]}`}, []string{"", "x</a", "<<b"}, []string{"x</a>", "<b>y"}},
		"rest":       {[]string{`{"type":"until","delimiters":[]}`}, []string{"", "anything"}, nil},
		"up to":      {[]string{`{"type":"until","delimiters":["\n-\n"]}`, literal(`\n-\n`), `{"type":"sequence","children":[0,1]}`, `{"type":"ac","child":2,"delimiters":["\n-\n"]}`}, []string{"x\n-\n", "\n\n-\n"}, []string{"x", "x\n-\n-\n"}},
		"string":     {[]string{`{"type":"string","delimiter":"'"}`}, []string{`a"b`, `a\'b`, `\u00e9`}, []string{`a'`, `\x`}},
		"space":      {[]string{`{"type":"space"}`}, []string{"", " ", "\n\t  "}, []string{"  ", "\n\n\n"}},
		"look-ahead": {[]string{literal("a"), `{"type":"not","child":0}`, `{"type":"any"}`, `{"type":"sequence","children":[1,2]}`}, []string{"a", "é"}, []string{"", "ab"}},
		"recursion": {[]string{literal("("), literal(")"), `{"type":"ref","name":"begin"}`, `{"type":"repetition","child":2,"min_count":0,"max_count":-1}`, `{"type":"sequence","children":[0,3,1]}`, `{"type":"rule","name":"begin","child":4,"trigger":true}`},
			[]string{"()", "(()(()))"}, []string{"", "(()"}},
	} {
		g, err := built(t, Format{}, c.parts...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for text, want := range wanted(c.right, c.wrong) {
			s, fits, err := g.Advance(g.Start(), []byte(text))
			if err != nil || (fits && g.Complete(s)) != want {
				t.Errorf("%s: %q is allowed: %v, %v", name, text, !want, err)
			}
		}
	}
}

func wanted(right, wrong []string) map[string]bool {
	all := map[string]bool{}
	for _, text := range right {
		all[text] = true
	}
	for _, text := range wrong {
		all[text] = false
	}
	return all
}

// Of parts that may each have a call, one has it, wherever it stands.
func TestAdd_OneCall(t *testing.T) {
	parts := []string{
		`{"type":"literal","literal":"c"}`, `{"type":"tag","tag":"tool-open","child":0}`,
		`{"type":"literal","literal":","}`, `{"type":"sequence","children":[2,1]}`, `{"type":"repetition","child":3,"min_count":0,"max_count":-1}`,
		`{"type":"literal","literal":"-"}`, `{"type":"choice","children":[1,5]}`,
		`{"type":"sequence","children":[6,4,6]}`,
	}
	for text, one := range map[string]bool{"c-": true, "-c": true, "-,c-": true, "--": true, "cc": false, "c,c-": false, "-,c,c-": false} {
		for _, f := range []Format{{OneCall: true}, {}} {
			g := must.Get(built(t, f, parts...))(t)
			s, fits, err := g.Advance(g.Start(), []byte(text))
			if err != nil || (fits && g.Complete(s)) != (one || !f.OneCall) {
				t.Errorf("%q, one call %v: %v %v", text, f.OneCall, fits, err)
			}
		}
	}
}

func TestAdd_Refusals(t *testing.T) {
	for name, parts := range map[string][]string{
		"unknown part": {`{"type":"frog"}`},
		"no such part": {`{"type":"tag","tag":"a","child":7}`},
		"no such rule": {`{"type":"ref","name":"nowhere"}`},
		"no JSON":      {`{`},
		"no schema":    {`{"type":"literal","literal":"a"}`, `{"type":"schema","child":0}`},
	} {
		if _, err := built(t, Format{}, parts...); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	var bad *Error
	_, err := built(t, Format{Answer: Answer{Schema: Schema{JSON: json.RawMessage(`{"type":"frog"}`), Field: "json_schema"}}}, `{"type":"literal","literal":"a"}`, `{"type":"schema","child":0}`)
	if !errors.As(err, &bad) || bad.Field != "json_schema" {
		t.Errorf("a bad schema: %v", err)
	}
	if _, err := built(t, Format{Lazy: true}, `{"type":"literal","literal":"a"}`); err == nil {
		t.Error("a lazy grammar that nothing begins is no error")
	}
}
