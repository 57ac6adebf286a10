// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// wholeChain is the one stage of a chain.
func wholeChain(t testing.TB, e *Engine, p sampling.Params) *Stage {
	t.Helper()
	stages := must.Get(e.NewChain(p))(t)
	t.Cleanup(func() {
		if err := stages[0].Close(); err != nil {
			t.Error(err)
		}
	})
	return stages[0].(*Stage)
}

// greedily is how an answer is like that takes the likeliest tokens.
func greedily() sampling.Params {
	p := sampling.Default()
	p.Temperature = 0
	return p
}

// speak has the stage choose the tokens of a text by themselves where it may: each is the
// likeliest of its row. Where the stage chooses another, speak goes on with that. It returns what
// the answer is after at most most tokens.
func speak(t testing.TB, e *Engine, s *Stage, text string, most int) string {
	t.Helper()
	wanted := must.Get(e.Tokenize(t.Context(), text, false, true))(t)
	var said strings.Builder
	row := make([]float32, e.info.Vocabulary)
	for i := range most {
		for j := range row {
			row[j] = -float32(j%97) / 8
		}
		if i < len(wanted) {
			row[wanted[i]] = 10
		} else {
			row[e.info.Special.EOS] = 10
		}
		token := must.Get(s.sample(row))(t)
		must.Get(s.Accept(token))(t)
		if e.model.EndOfGeneration(token) {
			break
		}
		said.WriteString(e.Piece(token))
	}
	return said.String()
}

func TestEngine_NewChain_Constraints(t *testing.T) {
	e := opened(t, Options{})
	for name, c := range map[string]struct {
		constraint sampling.Constraint
		says, want string
	}{
		"grammar": {sampling.Constraint{Grammar: `root ::= "yes" | "no"`}, "no", "no"},
		"Lark":    {sampling.Constraint{Grammar: "%llguidance {}\nstart: \"yes\" | NO\nNO: /no+/ \"!\""}, "noo!", "noo!"},
		"schema": {sampling.Constraint{JSONSchema: json.RawMessage(`{"type":"object","properties":{"b":{"enum":[1]},"a":{"const":"x"}},"required":["b","a"],"additionalProperties":false}`)},
			`{"b":1,"a":"x"}`, `{"b":1,"a":"x"}`},
		"empty schema": {sampling.Constraint{JSONSchema: json.RawMessage(` { } `)}, `{}`, `{}`},
		"regex":        {sampling.Constraint{Regex: `(?i)frog[0-9]{2}`}, `fRoG42`, `fRoG42`},
	} {
		p := greedily()
		p.Constraint = c.constraint
		if got := speak(t, e, wholeChain(t, e, p), c.says, 100); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEngine_NewChain_BadConstraints(t *testing.T) {
	e := opened(t, Options{})
	trigger := func(kind sampling.TriggerKind, value string) sampling.Constraint {
		return sampling.Constraint{Grammar: `root ::= "a"`, GrammarLazy: true, GrammarTriggers: []sampling.Trigger{{Kind: kind, Value: value}}}
	}
	for name, c := range map[string]struct {
		constraint sampling.Constraint
		field, why string
	}{
		"grammar":       {sampling.Constraint{Grammar: "root ::= nowhere"}, "grammar", `the rule "nowhere" is used, but not defined`},
		"Lark":          {sampling.Constraint{Grammar: "%llguidance {}\nstart: /a(?=b)/"}, "grammar", "grammar cannot be used: line 2: /a(?=b)/ is not supported"},
		"bare Lark":     {sampling.Constraint{Grammar: `start: "a"`}, "grammar", "in Lark's notation begins with %llguidance {}"},
		"repetition":    {sampling.Constraint{Grammar: `root ::= "a"{3,2}`}, "grammar", "at least 3"},
		"schema":        {sampling.Constraint{JSONSchema: json.RawMessage(`{"properties":{"a":{"items":{"type":"frog"}}}}`)}, "json_schema", `#/properties/a/items/type: "frog" is no type`},
		"remote schema": {sampling.Constraint{JSONSchema: json.RawMessage(`{"properties":{"a":{"$ref":"https://example.com/a"}}}`)}, "json_schema", "#/properties/a"},
		"pattern":       {sampling.Constraint{JSONSchema: json.RawMessage(`{"properties":{"a":{"pattern":"^[a$"}}}`)}, "json_schema", "#/properties/a/pattern: a class is not closed"},
		"no object":     {sampling.Constraint{JSONSchema: json.RawMessage(`7`)}, "json_schema", "#: a schema must be an object"},
		"regex":         {sampling.Constraint{Regex: `a(?=b)`}, "regex", "at character 1"},
		"one token":     {trigger(sampling.TriggerWord, "a"), "grammar_triggers[0].value", "preserved_tokens"},
		"look-ahead":    {trigger(sampling.TriggerPattern, "(?=a)"), "grammar_triggers[0].value", "invalid"},
		"large pattern": {trigger(sampling.TriggerPatternFull, "(a{30}){30}x{100}"), "grammar_triggers[0].value", "repeats too much"},
	} {
		p := greedily()
		p.Constraint = c.constraint
		_, err := e.NewChain(p)
		var invalid *sampling.Invalid
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.HasPrefix(err.Error(), c.field) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: got %v, want that of %s: %s", name, err, c.field, c.why)
		}
	}
	p := greedily()
	p.Constraint, p.GenerationPrompt = sampling.Constraint{Grammar: `root ::= "a"`, GrammarOfFormat: true}, "b"
	if _, err := e.NewChain(p); err == nil || !strings.Contains(err.Error(), "as the prompt ends") {
		t.Errorf("a generation prompt that does not fit: %v", err)
	}
}

// A grammar of a format begins with what of the answer stands in the prompt, that of a user does
// not.
func TestEngine_NewChain_GenerationPrompt(t *testing.T) {
	e := opened(t, Options{})
	for name, c := range map[string]struct {
		constraint sampling.Constraint
		prompt     string
		want       string
	}{
		"format":  {sampling.Constraint{Grammar: `root ::= "<a>yes"`, GrammarOfFormat: true}, "<a>", "yes"},
		"user":    {sampling.Constraint{Grammar: `root ::= "<a>yes"`}, "<a>", "<a>yes"},
		"schema":  {sampling.Constraint{JSONSchema: json.RawMessage(`{"enum":["yes"]}`)}, `"`, `yes"`},
		"nothing": {sampling.Constraint{Grammar: `root ::= "yes"`, GrammarOfFormat: true}, "", "yes"},
	} {
		p := greedily()
		p.Constraint, p.GenerationPrompt = c.constraint, c.prompt
		s := wholeChain(t, e, p)
		for range 2 {
			if got := speak(t, e, s, c.want, 100); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
			if err := s.Reset([]scheduler.Token{1, 2}, 2); err != nil { // the same again
				t.Fatal(err)
			}
		}
	}
}

func TestEngine_PreservedTokens(t *testing.T) {
	e := opened(t, Options{})
	eos := e.info.Special.EOS
	p := sampling.Default()
	p.PreservedTokens = []string{e.Piece(eos), "more than one token", e.Piece(eos)}
	got, err := e.PreservedTokens(t.Context(), p)
	if diff := cmp.Diff([]scheduler.Token{eos}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Who has left is the reason why preserved tokens and triggers are not found, and not their texts.
// The grammar that was read before is used by nobody then.
func TestEngine_PreservedTokens_EndWithTheirContext(t *testing.T) {
	e := opened(t, Options{})
	gone, leave := context.WithCancel(sampling.WithSalt(t.Context(), ""))
	p := lazyAndThinking()
	if c, err := e.Prepare(gone, p); err != nil { // so that the grammar is known
		t.Fatal(err)
	} else {
		c.Release()
	}
	leave()
	if got, err := e.PreservedTokens(gone, p); !errors.Is(err, context.Canceled) || errors.Is(err, sampling.ErrInvalid) {
		t.Errorf("%v: %v", got, err)
	}
	if _, err := e.Prepare(gone, p); !errors.Is(err, context.Canceled) || errors.Is(err, sampling.ErrInvalid) {
		t.Errorf("triggers: %v", err)
	}
	e.grammars.checkReleased(t)
}
