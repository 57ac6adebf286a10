// SPDX-License-Identifier: MIT

// Package grammartest has what tests and benchmarks of grammars share: the vocabulary of a model
// file, random JSON schemas, and a check of answers to them.
package grammartest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/native/gguf"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// memberNames are names of members. Some begin alike, so that the first letter does not tell them
// apart.
var memberNames = []string{"name", "na", "named", "age", "tags", "say \"é\"", "日本", "kind of"}

// RandomSchema makes a JSON schema with members and items up to depth levels deep. Some refer to
// themselves.
func RandomSchema(r *rand.Rand, depth int) map[string]any {
	g := schemaMaker{Rand: r}
	schema := g.schema(depth)
	if g.refers {
		node := map[string]any{"type": "object", "additionalProperties": false, "required": []any{"id"}, "properties": map[string]any{
			"id": map[string]any{"type": "integer"}, "next": map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/node"}, map[string]any{"type": "null"}}},
		}}
		schema["$defs"] = map[string]any{"node": node}
	}
	return schema
}

type schemaMaker struct {
	*rand.Rand
	refers bool
}

func (g *schemaMaker) schema(depth int) map[string]any {
	kinds := []func(int) map[string]any{g.text, g.pattern, g.format, g.number, g.choice, g.constant, g.types}
	if depth > 0 {
		kinds = append(kinds, g.object, g.object, g.object, g.array, g.array, g.alternatives, g.reference, g.alike, g.all, g.open, g.tuple)
	}
	schema := kinds[g.IntN(len(kinds))](depth - 1)
	if g.IntN(6) == 0 {
		schema["title"] = "has no effect"
	}
	return schema
}

func (g *schemaMaker) text(int) map[string]any {
	schema := map[string]any{"type": "string"}
	least := 0
	if g.IntN(2) == 0 {
		least = g.IntN(30)
		schema["minLength"] = least
	}
	if g.IntN(2) == 0 {
		schema["maxLength"] = least + g.IntN(12)
	}
	return schema
}

// pattern is an expression that the other implementation, which is no ECMA-262, reads alike.
func (g *schemaMaker) pattern(int) map[string]any {
	all := []string{`^[a-z]{2,8}(-[0-9]+)?$`, `^(red|green|"x"|\\\\|é)+$`, `[0-9]$`, `^[^a-y"]*z`, `^.{0,40}$`, `\bx\b`, `^(a|b)*a(a|b){3}$`, `^日?[日-本]{0,3}$`}
	schema := map[string]any{"type": "string", "pattern": all[g.IntN(len(all))]}
	switch g.IntN(4) {
	case 0:
		schema["minLength"] = 4
	case 1:
		schema["maxLength"] = 4 + g.IntN(30)
	case 2:
		schema["allOf"] = []any{map[string]any{"pattern": "^.{4,20}$"}}
	}
	if schema["pattern"] == all[7] {
		delete(schema, "minLength")
		delete(schema, "allOf")
	}
	return schema
}

func (g *schemaMaker) format(int) map[string]any {
	all := []string{"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid", "json-pointer"}
	return map[string]any{"type": "string", "format": all[g.IntN(len(all))]}
}

func (g *schemaMaker) number(int) map[string]any {
	schema := map[string]any{"type": []string{"number", "integer"}[g.IntN(2)]}
	least := float64(g.IntN(4000)-2000) / 4
	if g.IntN(2) == 0 {
		schema[[]string{"minimum", "exclusiveMinimum"}[g.IntN(2)]] = least
	}
	if g.IntN(2) == 0 {
		schema[[]string{"maximum", "exclusiveMaximum"}[g.IntN(2)]] = least + float64(1+g.IntN(40))*1.25 // there is a whole number between
	}
	return schema
}

// choice is among values of which some are beginnings of others.
func (g *schemaMaker) choice(int) map[string]any {
	values := []any{"red", "reddish", "green", "", "say \"hi\"\n", "é日", 1, 12, -0.5, nil, true, []any{}, []any{1, "a"}, map[string]any{"a": 1}}
	g.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
	return map[string]any{"enum": values[:1+g.IntN(len(values)-1)]}
}

func (g *schemaMaker) constant(int) map[string]any {
	values := []any{"a b", 42, 1.25, nil, false, []any{1, []any{}}, map[string]any{"a": 1, "b": []any{nil}}}
	return map[string]any{"const": values[g.IntN(len(values))]}
}

func (g *schemaMaker) types(int) map[string]any {
	types := []any{"string", "null", "boolean", []any{"integer", "number"}[g.IntN(2)]}
	g.Shuffle(len(types), func(i, k int) { types[i], types[k] = types[k], types[i] })
	return map[string]any{"type": types[:1+g.IntN(len(types))]}
}

func (g *schemaMaker) object(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range memberNames {
		if g.IntN(2) == 0 {
			continue
		}
		properties[name] = g.schema(depth)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	schema := map[string]any{"properties": properties, "required": required, "additionalProperties": false}
	switch g.IntN(3) {
	case 0:
		schema["type"] = "object"
	case 1:
		schema["type"] = []any{"object", "null"}
	default: // its keywords say what is meant
	}
	return schema
}

func (g *schemaMaker) array(depth int) map[string]any {
	schema := map[string]any{"type": "array", "items": g.schema(depth)}
	least := g.IntN(3)
	if least > 0 {
		schema["minItems"] = least
	}
	if g.IntN(2) == 0 {
		schema["maxItems"] = least + g.IntN(3)
	}
	return schema
}

// alternatives are told apart by how they begin.
func (g *schemaMaker) alternatives(depth int) map[string]any {
	all := []any{g.text(0), g.number(0), g.array(depth), map[string]any{"type": "null"}, map[string]any{"const": true}, g.member(depth)}
	g.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return map[string]any{[]string{"anyOf", "oneOf"}[g.IntN(2)]: all[:1+g.IntN(len(all))]}
}

func (g *schemaMaker) member(depth int) map[string]any {
	name := fmt.Sprintf("a%d", g.IntN(3))
	return map[string]any{"type": "object", "properties": map[string]any{name: g.schema(depth)}, "required": []any{name}}
}

// alike are objects that have their first member in common: only the values tell them apart.
func (g *schemaMaker) alike(depth int) map[string]any {
	all := []any{}
	for i := range 2 + g.IntN(3) {
		all = append(all, map[string]any{"type": "object", "required": []any{"kind"}, "additionalProperties": false, "properties": map[string]any{
			"kind": map[string]any{"const": fmt.Sprintf("kind %d", i)}, "of": g.schema(depth),
		}})
	}
	return map[string]any{[]string{"anyOf", "oneOf"}[g.IntN(2)]: all}
}

// all is an object that several schemas describe.
func (g *schemaMaker) all(depth int) map[string]any {
	bounds := map[string]any{"properties": map[string]any{"size": map[string]any{"maximum": 90 + g.IntN(20)}}}
	own := map[string]any{"type": "object", "required": []any{"size"}, "properties": map[string]any{
		"size": map[string]any{"type": []string{"integer", "number"}[g.IntN(2)], "minimum": 5, "multipleOf": []float64{0.25, 3, 7}[g.IntN(3)]}, "to": g.schema(depth),
	}}
	return map[string]any{"allOf": []any{own, bounds}}
}

// open has other members than it names.
func (g *schemaMaker) open(depth int) map[string]any {
	schema := g.member(depth)
	schema["additionalProperties"] = []any{true, g.number(0)}[g.IntN(2)]
	return schema
}

// tuple has items that are listed.
func (g *schemaMaker) tuple(depth int) map[string]any {
	schema := map[string]any{"type": "array", "prefixItems": []any{g.schema(depth), g.text(0)}, "maxItems": 4}
	schema["items"] = []any{true, false, g.number(0)}[g.IntN(3)]
	return schema
}

func (g *schemaMaker) reference(int) map[string]any {
	g.refers = true
	return map[string]any{"$ref": "#/$defs/node"}
}

// Fits tells what is wrong with a text that should be one JSON value that fits a schema, by another
// implementation than ours.
func Fits(schema []byte, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return fmt.Errorf("the schema is no JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%q is no JSON: %w\nschema %s", text, err, schema)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("%q does not fit %s: %w", text, schema, err)
	}
	return nil
}

// vocabularyEnv names the model file, whose tokens are spelt as GPT-2's.
const vocabularyEnv = "PENSTOCK_GRAMMAR_VOCABULARY"

// The types of tokens in a model file.
const (
	controlToken = 3
	unusedToken  = 5
)

// Tokens are those of a model file.
type Tokens struct {
	*grammar.Vocabulary
	Pieces [][]byte
	End    []int32 // end-of-generation tokens

	byText  map[string]int32
	longest int
}

// Load reads the model file that the environment names, or else Llama 3's vocabulary of 128,256
// tokens from llama.cpp's source. It skips the test where neither is there. up leads from the
// test's folder to the repository's.
func Load(t testing.TB, up string) *Tokens {
	t.Helper()
	path := os.Getenv(vocabularyEnv)
	if path == "" {
		found, err := filepath.Glob(filepath.Join(up, "build", "llama.cpp", "source-*", "models", "ggml-vocab-llama-bpe.gguf"))
		if err != nil || len(found) == 0 {
			t.Skipf("no vocabulary: %s names none, and llama.cpp's source is not there", vocabularyEnv)
		}
		path = found[0]
	}
	tokens, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// Read reads a model file's vocabulary, spelt as GPT-2's or as SentencePiece's.
func Read(path string) (*Tokens, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return nil, err
	}
	texts := h.Values["tokenizer.ggml.tokens"].Strings()
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no vocabulary", path)
	}
	t := &Tokens{byText: map[string]int32{}}
	spell := spellings[h.Values["tokenizer.ggml.model"].Text()]
	if spell == nil {
		spell = sentencePiece
	}
	var special []int32
	for i, text := range texts {
		piece := []byte(text)
		if kind := kindOf(h, i); kind == controlToken || kind == unusedToken {
			special = append(special, int32(i))
		} else {
			piece = spell(text)
			t.byText[string(piece)] = int32(i)
			t.longest = max(t.longest, len(piece))
		}
		t.Pieces = append(t.Pieces, piece)
		switch text {
		case "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>", "</s>", "<end_of_turn>":
			t.End = append(t.End, int32(i))
		}
	}
	if eos, ok := h.Values["tokenizer.ggml.eos_token_id"]; ok && !slices.Contains(t.End, int32(eos.Int(0))) {
		t.End = append(t.End, int32(eos.Int(0)))
	}
	t.Vocabulary = grammar.NewVocabulary(t.Pieces, t.End, special)
	return t, nil
}

// kindOf is a token's type; 0 in a file that tells none.
func kindOf(h *gguf.Header, token int) int64 {
	types := h.Values["tokenizer.ggml.token_type"]
	if types.Type != gguf.Array || types.Elem == gguf.String || token >= types.Len() {
		return 0
	}
	return types.Int(token)
}

// spellings make the bytes of a token from its text, by the kind of vocabulary.
var spellings = map[string]func(text string) []byte{"gpt2": gpt2()}

// gpt2 reads bytes as GPT-2's vocabularies spell them. Texts that have other characters are meant
// as they are.
func gpt2() func(text string) []byte {
	spelling := bytesOfRunes()
	return func(text string) []byte {
		var piece []byte
		for _, r := range text {
			b, ok := spelling[r]
			if !ok {
				return []byte(text)
			}
			piece = append(piece, b)
		}
		return piece
	}
}

// sentencePiece reads bytes as <0x41>, and U+2581 as a space.
func sentencePiece(text string) []byte {
	if digits, ok := strings.CutPrefix(text, "<0x"); ok && len(text) == len("<0x41>") {
		if b, err := strconv.ParseUint(digits[:2], 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	return []byte(strings.ReplaceAll(text, "\u2581", " "))
}

// bytesOfRunes is how GPT-2 spells bytes: those that can be printed as themselves, the others as
// the characters from U+0100 on.
func bytesOfRunes() map[rune]byte {
	spelling := map[rune]byte{}
	next := rune(0x100)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			spelling[rune(b)] = byte(b)
		} else {
			spelling[next] = byte(b)
			next++
		}
	}
	return spelling
}

// Of returns tokens of a text: always the longest that comes next. It ends where no token begins
// with the next byte.
func (t *Tokens) Of(text string) []int32 {
	var tokens []int32
	for len(text) > 0 {
		n := min(t.longest, len(text))
		for ; n > 0; n-- {
			if token, ok := t.byText[text[:n]]; ok {
				tokens = append(tokens, token)
				break
			}
		}
		if n == 0 {
			break
		}
		text = text[n:]
	}
	return tokens
}
