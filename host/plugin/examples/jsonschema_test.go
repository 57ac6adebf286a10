// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// prompt is the one that write has.
var prompt = []scheduler.Token{1, 2, 3}

// generate lets a stage with a mask and nothing else write an answer: any token that it allows is
// as likely as any other.
func generate(t *testing.T, m *load.Plugin, w words, schema []byte, maxTokens int, r *rand.Rand) (string, error) {
	t.Helper()
	config := slices.Concat([]byte(`{"schema":`), schema, []byte(`}`))
	s := must.Get(stage.New(m, plugin.RequestInfo{Config: config, MaxTokens: maxTokens, ContextSize: 4096}))(t)
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
			must.Do(t, grammartest.Fits(schema, text))
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
		text := must.Get(generate(t, m, w, schema, 60, rand.New(rand.NewPCG(seed, 2))))(t)
		must.Do(t, grammartest.Fits(schema, text))
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
	s := must.Get(stage.New(m, plugin.RequestInfo{Config: []byte(`{"schema":{"type":"array","items":{"type":"boolean"}}}`), MaxTokens: 50}))(t)
	defer func() { _ = s.Close() }() // tested elsewhere
	must.Do(t, s.Reset([]scheduler.Token{1}, 1))
	first := must.Get(s.Prepare())(t)
	before := slices.Clone(first.Mask)
	must.Get(s.Accept('['))(t)
	second, err := s.Prepare()
	if err != nil || slices.Equal(before, second.Mask) {
		t.Fatalf("the mask is the same after a token: %v", err)
	}
	must.Do(t, s.Reset([]scheduler.Token{1}, 1))
	if again, err := s.Prepare(); err != nil || !slices.Equal(before, again.Mask) {
		t.Errorf("the mask is another one after taking the token back: %v", err)
	}
}

// A long enum is a schema like any other.
func TestJSONSchema_LargeEnum_Works(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for _, n := range []int{100, 1000, 5000} {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("item %d of the catalogue", i*7919%n)
		}
		schema := mustJSON(t, map[string]any{"type": "string", "enum": values})
		text, err := generate(t, m, w, schema, 60, rand.New(rand.NewPCG(uint64(n), 3)))
		if err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		must.Do(t, grammartest.Fits(schema, text))
	}
}

// large are schemas with n values or a twentieth as many names: some that begin and end alike,
// some that have as much in common with the vocabulary as can be.
func large(t *testing.T, w words, n int) map[string][]byte {
	t.Helper()
	alike, apart := make([]string, n), make([]string, n)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for i := range n {
		alike[i] = fmt.Sprintf("item %d of the catalogue", i*7919%n)
		for range 3 {
			apart[i] += strings.ToValidUTF8(w.Piece(int32(400+r.IntN(len(w)-401))), "")
		}
		apart[i] += fmt.Sprint(i)
	}
	properties := func(names, required []string) []byte {
		p := map[string]any{}
		for i, name := range names[:n/20] {
			p[name] = map[string]any{"type": []string{"integer", "string", "boolean"}[i%3]}
		}
		return mustJSON(t, map[string]any{"type": "object", "properties": p, "required": required})
	}
	return map[string][]byte{
		"enum, alike":             mustJSON(t, map[string]any{"type": "string", "enum": alike}),
		"enum, apart":             mustJSON(t, map[string]any{"enum": apart}),
		"properties, optional":    properties(apart, []string{}),
		"properties, one needed":  properties(apart, apart[:1]),
		"properties, some needed": properties(alike, alike[:10]),
	}
}

// dense is a vocabulary with all words of up to four of 18 letters: each place of a text made of
// them has as many siblings.
func dense() words {
	const letters = "abcdefghijklmnopqr"
	w := newWords()
	w = w[:len(w)-1]
	for i, words := 0, []string{""}; i < 4; i++ {
		var longer []string
		for _, word := range words {
			for _, c := range letters {
				longer = append(longer, word+string(c))
			}
		}
		w, words = append(w, longer...), longer
	}
	return append(w, endOfText)
}

// The texts of a schema and the tokens of a vocabulary can both be many: a call costs what they
// have in common. Two kinds of five are tried with each vocabulary, and all in `make test-long`.
func TestJSONSchema_ManyTextsAndTokens_FitTheFuelWithRoom(t *testing.T) {
	for name, w := range map[string]words{"many": many(), "dense": dense()} {
		m := loaded(t, "json-schema", w)
		schemas := large(t, w, 5000)
		for _, kind := range steadytest.Some(t, slices.Sorted(maps.Keys(schemas)), 2) {
			t.Run(name+"/"+kind, func(t *testing.T) { mustLeaveRoom(t, m, w, schemas[kind]) })
		}
	}
}

// mustLeaveRoom has answers written to a schema, and wants no call to take more than three fifths
// of its fuel.
func mustLeaveRoom(t *testing.T, m *load.Plugin, w words, schema []byte) {
	t.Helper()
	most, memory := map[string]stage.Usage{}, 0
	for seed := range uint64(steadytest.InLongTest(3, 1)) {
		s := must.Get(stage.New(m, plugin.RequestInfo{Config: fmt.Appendf(nil, `{"schema":%s}`, schema), MaxTokens: 1000, ContextSize: 4096}))(t)
		text, err := write(s, w, 1000, rand.New(rand.NewPCG(seed, 9)), func(call string) {
			u := s.Usage()
			memory = max(memory, u.Memory)
			if u.Fuel > most[call].Fuel {
				most[call] = u
			}
		})
		if err != nil {
			t.Errorf("after %.200q: %s", text, plugin.Told(err))
		} else {
			must.Do(t, grammartest.Fits(schema, text))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d bytes of schema, %d KiB of memory", len(schema), memory>>10)
	for call, u := range most {
		t.Logf("%s: %d of %d fuel", call, u.Fuel, u.Limit)
		if 5*u.Fuel > 3*u.Limit {
			t.Errorf("%s took %d of %d fuel; three fifths should do", call, u.Fuel, u.Limit)
		}
	}
}

// written are schemas as users have them, for whole answers.
var written = map[string]string{
	"person": `{"type":"object","required":["name","age","tags"],"properties":{"name":{"type":"string","maxLength":60},
		"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string"},"maxItems":5}}}`,
	"union": `{"type":"array","minItems":3,"maxItems":6,"items":{"anyOf":[
		{"type":"object","required":["kind","text"],"properties":{"kind":{"const":"note"},"text":{"type":"string"}}},
		{"type":"object","required":["kind","x","y"],"properties":{"kind":{"const":"point"},"x":{"type":"number"},"y":{"type":"number"}}}]}}`,
	"patterns": `{"type":"object","required":["id","at","mail","slug","page"],"properties":{"id":{"format":"uuid"},"at":{"format":"date-time"},
		"mail":{"format":"email"},"slug":{"pattern":"^[a-z0-9]+(-[a-z0-9]+)*$","maxLength":40},"page":{"format":"uri"}}}`,
	"free": `{"type":"object"}`,
}

// BenchmarkJSONSchema_Answer measures prepare over whole answers of requests of their own, with
// 128k tokens: the masks that a request needs first and those that it needs again, as they come.
func BenchmarkJSONSchema_Answer(b *testing.B) {
	w := many()
	m := loaded(b, "json-schema", w)
	for name, schema := range written {
		b.Run(name, func(b *testing.B) {
			config := fmt.Appendf(nil, `{"schema":%s}`, schema)
			var took []time.Duration
			for seed := uint64(0); b.Loop(); seed++ {
				s := must.Get(stage.New(m, plugin.RequestInfo{Config: config, MaxTokens: 200, ContextSize: 4096}))(b)
				took = append(took, prepares(b, s, w, rand.New(rand.NewPCG(seed, 12)))...)
				must.Do(b, s.Close())
			}
			slices.Sort(took)
			sum := time.Duration(0)
			for _, d := range took {
				sum += d
			}
			b.ReportMetric(float64((sum/time.Duration(len(took))).Nanoseconds())/1e3, "µs/prepare")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "µs/p99")
			b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1e3, "µs/most")
		})
	}
}

// prepares lets a stage write an answer and tells how long each mask took.
func prepares(b *testing.B, s *stage.Stage, w words, r *rand.Rand) []time.Duration {
	b.Helper()
	must.Do(b, s.Reset(prompt, len(prompt)))
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		p, err := s.Prepare()
		took = append(took, time.Since(begun))
		if err != nil {
			b.Fatal(err)
		}
		token := draw(p.Mask, r)
		effect, err := s.Accept(token)
		if err != nil {
			b.Fatal(err)
		}
		if effect.Stop || w[token] == endOfText {
			break
		}
	}
	return took
}

// Patterns that are wide open meet most of a large vocabulary, and still no call runs out of fuel.
func TestJSONSchema_WidePatterns_FitTheFuel(t *testing.T) {
	w := many()
	m := loaded(t, "json-schema", w)
	for _, schema := range []string{written["patterns"], `{"pattern":"^.*@.*$"}`, `{"pattern":"^[^0-9]+$","minLength":9,"maxLength":30}`} {
		text, err := generate(t, m, w, []byte(schema), 200, rand.New(rand.NewPCG(1, 12)))
		if err != nil {
			t.Fatalf("%s: after %q: %v", schema, text, err)
		}
		must.Do(t, grammartest.Fits([]byte(schema), text))
	}
}
