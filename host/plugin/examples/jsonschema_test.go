// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/steadytest"
)

// prompt is the one that write has.
var prompt = []scheduler.Token{1, 2, 3}

// generate lets a stage with a mask and nothing else write an answer: any token that it allows is
// as likely as any other.
func generate(t *testing.T, m *load.Plugin, w words, schema []byte, maxTokens int, r *rand.Rand) (string, error) {
	t.Helper()
	config := slices.Concat([]byte(`{"schema":`), schema, []byte(`}`))
	s, err := stage.New(m, plugin.RequestInfo{Config: config, MaxTokens: maxTokens, ContextSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return write(s, w, maxTokens, r, func(string) {})
}

// write lets an open stage write; called is told each call of the plugin when it is over.
func write(s *stage.Stage, w words, maxTokens int, r *rand.Rand, called func(string)) (string, error) {
	if err := s.Reset(prompt, len(prompt)); err != nil {
		return "", err
	}
	called("open")
	var text strings.Builder
	for range maxTokens {
		p, err := s.Prepare()
		if err != nil {
			return text.String(), err
		}
		called("prepare")
		token := draw(p.Mask, r)
		effect, err := s.Accept(token)
		if err != nil {
			return text.String(), err
		}
		called("accept")
		text.WriteString(w.Piece(token))
		if effect.Stop || w[token] == endOfText {
			return text.String(), nil
		}
	}
	return text.String(), nil
}

func draw(mask []uint32, r *rand.Rand) scheduler.Token {
	allowed := 0
	for _, word := range mask {
		allowed += bits.OnesCount32(word)
	}
	left, at := r.IntN(allowed), 0
	for left >= bits.OnesCount32(mask[at]) {
		left -= bits.OnesCount32(mask[at])
		at++
	}
	word := mask[at]
	for range left {
		word &= word - 1
	}
	return scheduler.Token(32*at + bits.TrailingZeros32(word))
}

func mustFit(t *testing.T, schema []byte, text string) {
	t.Helper()
	if err := grammartest.Fits(schema, text); err != nil {
		t.Fatal(err)
	}
}

func TestJSONSchema_RandomSchemas_FitAndClose(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	r := steadytest.Rand(t)
	for range steadytest.InLongTest(200, 20) {
		schema := mustJSON(t, grammartest.RandomSchema(r, 4))
		for _, extra := range []int{0, 1, 5, 400} {
			least := leastTokens(t, m, w, schema)
			text, err := generate(t, m, w, schema, least+extra, r)
			if err != nil {
				t.Fatalf("schema %s with %d tokens: %v", schema, least+extra, err)
			}
			mustFit(t, schema, text)
		}
	}
}

// leastTokens is what the plugin says that a schema needs.
func leastTokens(t *testing.T, m *load.Plugin, w words, schema []byte) int {
	t.Helper()
	if _, err := generate(t, m, w, schema, 1, rand.New(rand.NewPCG(0, 0))); err != nil {
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("schema %s: %v", schema, err)
		}
		least := 0
		if _, err := fmt.Sscanf(refusal.Message, "max_tokens: 1 is too little for config.schema; it needs up to %d", &least); err != nil {
			t.Fatalf("schema %s: %v", schema, refusal)
		}
		return least
	}
	return 1
}

func TestJSONSchema_References_MayRecur(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	schema := []byte(`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"id":{"type":"integer"},
		"items":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["id","items"]}}}`)
	for seed := range uint64(20) {
		text, err := generate(t, m, w, schema, 60, rand.New(rand.NewPCG(seed, 2)))
		if err != nil {
			t.Fatal(err)
		}
		mustFit(t, schema, text)
	}
}

func TestJSONSchema_Refuses_ByName(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for schema, want := range map[string]string{
		`{"type":"string","pattern":"(?<!a)b"}`:                                    "config.schema: #/pattern: ",
		`{"type":"string","pattern":"^a{2}$","minLength":3}`:                       "config.schema: #: nothing fits",
		`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`: "config.schema: #/properties/a",
		`{"type":"number","multipleOf":0}`:                                         "#/multipleOf",
		`{"anyOf":[{"$ref":"#"},{"type":"null"}]}`:                                 "config.schema: #",
		`{"type":"object","required":"a"}`:                                         "#/required",
		`{"type":"strin"}`:                                                         "#/type",
		`{"$ref":"#/x"}`:                                                           "#/$ref",
		`{"$ref":"https://example.com/schema"}`:                                    "#/$ref",
		`{"type":"string","minLength":-1}`:                                         "#/minLength",
		`{"enum":["` + strings.Repeat("a", 512<<10) + `"]}`:                        "at most 262144 are taken",
		`{"type":"string","minLength":99999}`:                                      "max_tokens: 100 is too little",
	} {
		_, err := generate(t, m, w, []byte(schema), 100, rand.New(rand.NewPCG(0, 0)))
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, want) {
			t.Errorf("%.200s: got %s, want a refusal with %q", schema, plugin.Told(err), want)
		}
	}
}

func TestJSONSchema_Rewind_TakesBack(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	s, err := stage.New(m, plugin.RequestInfo{Config: []byte(`{"schema":{"type":"array","items":{"type":"boolean"}}}`), MaxTokens: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // tested elsewhere
	if err := s.Reset([]scheduler.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	first, err := s.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(first.Mask)
	if _, err := s.Accept('['); err != nil {
		t.Fatal(err)
	}
	second, err := s.Prepare()
	if err != nil || slices.Equal(before, second.Mask) {
		t.Fatalf("the mask is the same after a token: %v", err)
	}
	if err := s.Reset([]scheduler.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Prepare(); err != nil || !slices.Equal(before, again.Mask) {
		t.Errorf("the mask is another one after taking the token back: %v", err)
	}
}
