// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

func newGrammar(t testing.TB, m *Model, text string) *Grammar {
	t.Helper()
	g, err := NewGrammar(m, text, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, g) })
	return g
}

func maskOf(t testing.TB, m *Model, g *Grammar) []uint32 {
	t.Helper()
	mask := make([]uint32, (m.Info().Vocabulary+31)/32)
	if err := g.Mask(mask); err != nil {
		t.Fatal(err)
	}
	return mask
}

func replayed(t testing.TB, m *Model, text string, history []int32) *Grammar {
	t.Helper()
	g := newGrammar(t, m, text)
	for _, token := range history {
		if ok, err := g.Accept(token); !ok || err != nil {
			t.Fatalf("token %d of the history: %v, %v", token, ok, err)
		}
	}
	return g
}

const jsonText = `root ::= value
value ::= object | "[" ws (value ("," ws value)*)? "]" ws | string | [0-9]+ ws | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" ["\\bfnrt])* "\"" ws
ws ::= | " " | "\n" [ \t]{0,20}`

// TestGrammar_Mask_IsWhatAcceptTakes walks at random and tries every token at every position.
func TestGrammar_Mask_IsWhatAcceptTakes(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	n := m.Info().Vocabulary
	for name, text := range map[string]string{
		"json": jsonText, "characters of many bytes": `root ::= ("ü" | "€" | "🐸" | [а-я])+ "."`, "not": `root ::= [^a-zé]* "a" [^€]+`,
		"tokens": `root ::= <[70]> "a"* !<[71]> (<[72]> | "bc")`, "empty": `root ::= "a"? "b"? .?`,
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			var history []int32
			for range 12 {
				g := replayed(t, m, text, history)
				mask := maskOf(t, m, g)
				var allowed []int32
				for token := range int32(n) {
					if mask[token/32]>>(token%32)&1 == 1 {
						allowed = append(allowed, token)
					}
				}
				for token := range int32(n) {
					in := mask[token/32]>>(token%32)&1 == 1
					if !in && token%7 != 0 {
						continue // a part of those that are not allowed is enough
					}
					if ok, err := replayed(t, m, text, history).Accept(token); ok != in || err != nil {
						t.Fatalf("after %v token %d (%q): in the mask %v, accepted %v, %v", history, token, m.SpecialPiece(token), in, ok, err)
					}
				}
				if len(allowed) == 0 {
					t.Fatalf("after %v nothing is allowed", history)
				}
				next := allowed[rng.IntN(len(allowed))]
				if m.EndOfGeneration(next) {
					return
				}
				history = append(history, next)
			}
		})
	}
}

// TestGrammar_Mask_ManyReadingsOfOneToken: a text that can be read in exponentially many ways must not be followed path by path.
func TestGrammar_Mask_ManyReadingsOfOneToken(t *testing.T) {
	m := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-llama-bpe.gguf"), ModelOptions{VocabOnly: true})
	var g *Grammar
	mask := make([]uint32, (m.Info().Vocabulary+31)/32)
	took := steadytest.Cost(t, func() {
		g = newGrammar(t, m, `root ::= " " root | " " root "b" | " " root "c" | "a"`)
		if err := g.Mask(mask); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "too ambiguous") {
			t.Errorf("got %v, want ErrFailed: too ambiguous", err)
		}
	})
	plain := steadytest.Cost(t, func() { // which follows each token in one way
		for range 10 {
			if err := newGrammar(t, m, `root ::= [^a]*`).Mask(mask); err != nil {
				t.Error(err)
			}
		}
	})
	if took > plain {
		t.Errorf("it takes %v, ten masks of a plain grammar %v", took, plain)
	}
	spaces, err := m.Tokenize(t.Context(), strings.Repeat(" ", 64)+"x", TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Accept(spaces[0]); err != nil && !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
}

func TestGrammar_Accept_RefusesAndStays(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	g := newGrammar(t, m, `root ::= "ab"`)
	before := maskOf(t, m, g)
	for _, token := range []int32{-1, int32(m.Info().Vocabulary), m.Info().Special.EOS} {
		if ok, err := g.Accept(token); ok || err != nil {
			t.Errorf("token %d: %v, %v", token, ok, err)
		}
	}
	after := maskOf(t, m, g)
	for i := range before {
		if before[i] != after[i] {
			t.Fatal("a refused token changed the mask")
		}
	}
	if err := g.Mask(make([]uint32, 1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a mask too short: got %v, want ErrInvalid", err)
	}
	closing(t, g)
	if _, err := g.Accept(1); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestGrammar_Accept_LongTexts: the memory for states must not grow with the text.
func TestGrammar_Accept_LongTexts(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	g := newGrammar(t, m, `root ::= "[" root "]"? | "[]"`)
	open, err := m.Tokenize(t.Context(), "[", TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if ok, err := g.Accept(open[len(open)-1]); !ok || err != nil {
			if errors.Is(err, ErrFailed) && i > 1000 {
				return // as many readings as brackets
			}
			t.Fatalf("bracket %d: %v, %v", i, ok, err)
		}
	}
}

func TestGrammarOfSchema(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	text, err := GrammarOfSchema(`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}`)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := m.Tokenize(t.Context(), `{"a": 12}`, TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	replayed(t, m, text, append(tokens, m.Info().Special.EOS))
	plain := largeSchemaCost(t)
	for name, schema := range map[string]string{
		"no JSON": "{", "no schema": "7", "unknown type": `{"type": "frog"}`, "elsewhere": `{"$ref": "https://example.com/schema.json"}`,
		"nowhere": `{"$ref": "#/definitions/a"}`, "not UTF-8": "\"\xff\"", "empty": "", "all of itself": `{"allOf": [{"$ref": "#"}]}`,
		"any of itself": `{"anyOf": [{"$ref": "#"}]}`, "itself": `{"$ref": "#"}`,
		"each other": `{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`,
		"deep":       strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200),
		"long":       `{"description": "` + strings.Repeat("a", 300<<10) + `"}`,
	} {
		took := steadytest.Cost(t, func() {
			text, err := GrammarOfSchema(schema)
			if err == nil {
				_, err = NewGrammar(m, text, "")
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
		})
		if took > plain {
			t.Errorf("%s: takes %v, a large schema %v", name, took, plain)
		}
	}
}

func TestSampler_Fits(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	tokens, err := m.Tokenize(t.Context(), "abab", TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSampler(t, m, grammarOf(`root ::= "aba"`, ""))
	for range 2 { // nothing changes
		n, err := s.CountAllowed(tokens, 0)
		if want := len(tokens) - 1; err != nil || n != want {
			t.Errorf("%d tokens fit, want %d, %v", n, want, err)
		}
	}
	if _, err := s.CountAllowed([]int32{-1}, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	if n, err := newSampler(t, m, greedy()).CountAllowed(tokens, 0); n != len(tokens) || err != nil {
		t.Errorf("without a grammar: %d fit, %v", n, err)
	}
}

// BenchmarkGrammar_Mask is one mask over the 128,256 tokens of Llama 3: in a new state, and in a known one.
func BenchmarkGrammar_Mask(b *testing.B) {
	m := load(b, filepath.Join(llamaSource(b), "models", "ggml-vocab-llama-bpe.gguf"), ModelOptions{VocabOnly: true})
	quote, err := m.Tokenize(b.Context(), `"`, TokenizeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	mask := make([]uint32, (m.Info().Vocabulary+31)/32)
	for _, known := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "known"}[known], func(b *testing.B) {
			g := replayed(b, m, jsonText, quote[len(quote)-1:])
			for range b.N {
				if !known {
					b.StopTimer()
					g = replayed(b, m, jsonText, quote[len(quote)-1:])
					b.StartTimer()
				}
				if err := g.Mask(mask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
