// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// The texts and tokens of llama.cpp's own tokeniser test.
func TestModel_Tokenize_LlamaVocabularies(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(llamaSource(t), "models", "ggml-vocab-*.gguf.inp")))(t)
	if len(files) < 15 {
		t.Fatalf("%d vocabularies with expected tokens; llama.cpp's tree has at least 15", len(files))
	}
	for _, inputs := range steadytest.Some(t, files, 4) {
		path := strings.TrimSuffix(inputs, ".inp")
		t.Run(strings.TrimSuffix(filepath.Base(path), ".gguf"), func(t *testing.T) {
			t.Parallel()
			m := load(t, path, ModelOptions{VocabOnly: true})
			texts := strings.Split(readFile(t, inputs), "\n__ggml_vocab_test__\n")
			want := strings.Split(strings.TrimSuffix(readFile(t, path+".out"), "\n"), "\n")
			if last := len(texts) - 1; texts[last] == "" && len(texts) > len(want) {
				texts = texts[:last]
			}
			if len(texts) != len(want) {
				t.Fatalf("%d texts with %d expected results", len(texts), len(want))
			}
			for i, text := range texts {
				tokens := must.Get(m.Tokenize(t.Context(), text, TokenizeOptions{}))(t)
				got := strings.Trim(fmt.Sprint(tokens), "[]")
				if got != strings.TrimSpace(want[i]) {
					t.Errorf("%q:\n got %s\nwant %s", text, got, want[i])
				}
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return string(data)
}

func TestModel_Detokenize_InvertsTokenize(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for _, text := range []string{"", " ", "Once upon a time", "a\nb\t c", "Grüße, 世界! 🐸", "<|im_start|>user\nhi<|im_end|>", "\x00\x01\xff\xfe"} {
		tokens, err := m.Tokenize(t.Context(), text, TokenizeOptions{ParseSpecial: true})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, err := m.Detokenize(tokens, DetokenizeOptions{UnparseSpecial: true})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got != text && !strings.ContainsRune(text, '\xff') && text != "\x00\x01\xff\xfe" {
			t.Errorf("%q became %q", text, got)
		}
		pieces := ""
		for _, token := range tokens {
			pieces += m.SpecialPiece(token)
		}
		if diff := cmp.Diff(got, pieces); diff != "" {
			t.Errorf("%q: pieces differ from text (-text +pieces):\n%s", text, diff)
		}
	}
}

const greedyPrompt = "<|im_start|>user\nTell me a story about a frog.<|im_end|>\n<|im_start|>assistant\n"

func greedyText(t *testing.T, m *Model, o ContextOptions, prompt string, n int) string {
	t.Helper()
	tokens := must.Get(m.Tokenize(t.Context(), prompt, TokenizeOptions{AddSpecial: true, ParseSpecial: true}))(t)
	out := generate(t, newContext(t, m, o), newSampler(t, m, greedy()), tokens, n)
	text := must.Get(m.Detokenize(out, DetokenizeOptions{}))(t)
	return strings.TrimSpace(text)
}

func TestContext_Decode_BuiltInModelGreedy(t *testing.T) {
	const want = "Once upon a time there was a frog named Ivy. Ivy lived near the garden. One day Ivy wanted a pink shell " +
		"more than anything. Ivy worked hard every day, and Kim helped. After three days the shell was ready. " +
		"Ivy and Kim went home, glad and tired."
	m := loadBuiltIn(t, ModelOptions{})
	for name, o := range map[string]ContextOptions{
		"default": {Threads: 1}, "plain attention in 32 bits": {Threads: 1, FlashAttention: "off", TypeK: "f32", TypeV: "f32"},
	} {
		if diff := cmp.Diff(want, greedyText(t, m, o, greedyPrompt, 100)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// vocabularies are the files of all vocabularies that there are here: llama.cpp's, and those of
// small models of other kinds.
func vocabularies(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(llamaSource(t), "models", "ggml-vocab-*.gguf"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d vocabularies, %v; llama.cpp's tree has about 19", len(files), err)
	}
	return append(files, builtIn, unigram(t, files))
}

// unigram writes a vocabulary for llama.cpp's tokenizer of T5, of which its tree has none:
// SentencePiece's tokens do for it.
func unigram(t testing.TB, files []string) string {
	t.Helper()
	from := files[slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "llama-spm.gguf") })]
	path := filepath.Join(t.TempDir(), "unigram.gguf")
	w := must.Get(os.Create(path))(t)
	defer closing(t, w)
	must.Do(t, synth.Edit(w, from, func(h *gguf.Header) { h.Set("tokenizer.ggml.model", gguf.NewString("t5")) }))
	return path
}

// TestModel_Tokenize_SpecialTokens_AsLlama: texts of special tokens, parts of them and what may
// stand between become the tokens that llama.cpp makes of them.
func TestModel_Tokenize_SpecialTokens_AsLlama(t *testing.T) {
	r := steadytest.Rand(t)
	for _, file := range steadytest.Some(t, vocabularies(t), 3) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := load(t, file, ModelOptions{VocabOnly: true})
			for range steadytest.InLongTest(400, 60) {
				text := textOfSpecials(r, &m.vocab.specials)
				o := TokenizeOptions{AddSpecial: r.IntN(2) == 0, ParseSpecial: r.IntN(4) > 0}
				want := must.Get(m.appendLlamaTokens(t.Context(), nil, text, o))(t)
				got, err := m.Tokenize(t.Context(), text, o)
				if err != nil || !slices.Equal(want, got) {
					t.Fatalf("%q with %+v: %v\n got %d\nwant %d", text, o, err, got, want)
				}
			}
		})
	}
}

func textOfSpecials(r *rand.Rand, s *specials) string {
	between := []string{" ", "  ", "\n", "\t\n", "a", "The fox", "<", "<|", "|>", ">", "好", "🐸", " x ", "\xff", "▁", "12345", "'ll"}
	var text strings.Builder
	for range r.IntN(12) {
		if len(s.tokens) == 0 || r.IntN(2) == 0 {
			text.WriteString(between[r.IntN(len(between))])
			continue
		}
		special := s.tokens[r.IntN(len(s.tokens))].text
		if r.IntN(4) == 0 {
			special = special[:r.IntN(len(special)+1)]
		}
		text.WriteString(special)
	}
	return text.String()
}

// impatient is a context that is done once it was asked so many times.
type impatient struct {
	context.Context
	asked, patience int
}

func (c *impatient) Err() error {
	if c.asked++; c.asked > c.patience {
		return context.Canceled
	}
	return nil
}

// TestModel_Tokenize_SpecialTokens_Work: a megabyte of special tokens took llama.cpp 26 seconds,
// the square of their number, and could not be interrupted. Now each is found once, and what
// stands between two is the most that is done for a request that is given up.
func TestModel_Tokenize_SpecialTokens_Work(t *testing.T) {
	m := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-qwen2.gguf"), ModelOptions{VocabOnly: true})
	const n = 76_000
	text := strings.Repeat("<|endoftext|>", n)
	if found := m.vocab.specials.all(text, true); len(found) != n {
		t.Errorf("%d found, want each once: %d", len(found), n)
	}
	ctx := &impatient{t.Context(), 0, 1 << 30}
	if tokens, err := m.Tokenize(ctx, text, TokenizeOptions{ParseSpecial: true}); len(tokens) != n || err != nil {
		t.Errorf("%d tokens, %v; want %d", len(tokens), err, n)
	}
	if ctx.asked != 1 {
		t.Errorf("llama.cpp was given %d pieces of a text that has none", ctx.asked-1)
	}
	ctx = &impatient{t.Context(), 0, 1000}
	_, err := m.Tokenize(ctx, strings.Repeat("a<|endoftext|>", n), TokenizeOptions{ParseSpecial: true})
	if err == nil || ctx.asked > 1002 { // once more for the reason
		t.Errorf("it went on for %d pieces, with %v; want 1000", ctx.asked, err)
	}
}

// TestSpecials_Split_Order: what llama.cpp's loops make of tokens that overlap and strip, found by
// hand.
func TestSpecials_Split_Order(t *testing.T) {
	var s specials
	s.trie, s.whole = map[step]int{}, map[int][]int{}
	for i, text := range []string{"bcde", "<l>", "<r>", "abc", "aa", ""} {
		kind := AttributeUserDefined
		switch text {
		case "<l>":
			kind = AttributeControl | stripsLeft
		case "<r>":
			kind = AttributeControl | stripsRight
		}
		s.add(special{int32(i), text, kind})
	}
	for text, want := range map[string][]found{
		"":             nil,
		"xyz":          nil,
		"abcde":        {{0, 1, 5}},
		"aaa":          {{4, 0, 2}},
		"abcaaaa":      {{3, 0, 3}, {4, 3, 5}, {4, 5, 7}},
		"x \n<l> y":    {{1, 1, 6}},
		" <l><l> ":     {{1, 0, 4}, {1, 4, 7}},
		"<r> \t <r>x ": {{2, 0, 6}, {2, 6, 9}},
		"<r>  <l>":     {{1, 3, 8}, {2, 0, 3}},
	} {
		got := s.split(text, true)
		slices.SortFunc(want, func(a, b found) int { return a.begin - b.begin })
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(found{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := s.split("<l>aa", false); len(got) != 1 || got[0].special != 4 {
		t.Errorf("control tokens stay text, but %v", got)
	}
}

// TestModel_Tokenize_Runs: 20,000 spaces and a digit took llama.cpp 8 seconds with DeepSeek's
// tokenizer, the square of their number. What is accepted has few characters to look at, so the
// test counts these and not time.
func TestModel_Tokenize_Runs(t *testing.T) {
	m := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-deepseek-llm.gguf"), ModelOptions{VocabOnly: true})
	spaces := strings.Repeat(" ", 1<<20)
	for name, tc := range map[string]struct {
		pre, text string
		bad       bool
	}{
		"spaces":          {"deepseek-llm", spaces + "1", true},
		"other spaces":    {"deepseek-llm", strings.Repeat("\u3000", 1<<16) + "1", true},
		"in parts":        {"deepseek-llm", strings.Repeat(spaces[:5000]+"1", 100), true},
		"a wide table":    {"deepseek-llm", strings.Repeat(spaces[:200]+"1\n", 1000), false},
		"at the end":      {"deepseek-llm", spaces, false},
		"lines":           {"deepseek-llm", strings.Repeat("\n", 1<<20), false},
		"digits":          {"deepseek-llm", strings.Repeat("1", 1<<18), false},
		"long digits":     {"superbpe", strings.Repeat("1", 1<<20), true},
		"many digits":     {"superbpe", strings.Repeat("123456789 ", 1<<16), false},
		"jais's spaces":   {"jais-2", spaces + "1", true},
		"fewer of them":   {"jais-2", spaces[:1<<16] + "1", false},
		"another's space": {"llama-bpe", spaces + "1", false},
	} {
		m.meta["tokenizer.ggml.pre"] = tc.pre
		if err := m.checkWork(tc.text); tc.bad != errors.Is(err, ErrInvalid) || (err != nil) != tc.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.meta["tokenizer.ggml.pre"] = "deepseek-llm"
	if _, err := m.Tokenize(t.Context(), spaces+"1", TokenizeOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// TestModel_Tokenize_Searches: with thousands of special tokens that begin alike, each such
// beginning is looked at thousands of times.
func TestModel_Tokenize_Searches(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for range 6000 {
		m.vocab.specials.add(special{5, "<unused", AttributeUserDefined})
		m.vocab.specials.add(special{5, "[control]", AttributeControl})
	}
	for text, bad := range map[string]bool{
		strings.Repeat("<", 1<<20):                  true,
		strings.Repeat("[", 1<<20):                  false,
		strings.Repeat("<b>A word</b> or so", 3000): false,
	} {
		if err := m.checkWork(text); bad != errors.Is(err, ErrInvalid) || (err != nil) != bad {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

// TestModel_Tokenize_UnknownCharacters: a megabyte of characters that are not in a SentencePiece
// vocabulary took llama.cpp more than a minute, the square of their number. Ordinary texts are
// accepted.
func TestModel_Tokenize_UnknownCharacters(t *testing.T) {
	spm := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-llama-spm.gguf"), ModelOptions{VocabOnly: true})
	for name, tc := range map[string]struct {
		text string
		bad  bool
	}{
		"frogs":        {strings.Repeat("🐸", 1<<18), true},
		"lines":        {strings.Repeat("\n", 1<<20), true},
		"some frogs":   {strings.Repeat("🐸", 10_000), false},
		"text":         {strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 10_000), false},
		"known hanzi":  {strings.Repeat("好", 100_000), false},
		"not UTF-8":    {strings.Repeat("\xff", 1<<20), true},
		"a few frogs":  {strings.Repeat("🐸", 5), false},
		"zero letters": {"", false},
	} {
		tokens, err := spm.Tokenize(t.Context(), tc.text, TokenizeOptions{})
		if tc.bad != errors.Is(err, ErrInvalid) || (!tc.bad && (err != nil || len(tokens) == 0 && tc.text != "")) {
			t.Errorf("%s: %d tokens, %v", name, len(tokens), err)
		}
	}
}

// tests/real compares with transformers; this shows each rule by itself.
func TestWordPiece_Words(t *testing.T) {
	for _, c := range []struct {
		text, plain, cased string
	}{
		{"", "", ""},
		{" \n\t", "", ""},
		{"A frog", "a|frog", "A|frog"},
		{"don't, well-known", "don|'|t|,|well|-|known", "don|'|t|,|well|-|known"},
		{"a<b $5 \u20ac5", "a|<|b|$|5|\u20ac5", "a|<|b|$|5|\u20ac5"},
		{"caf\u00e9 cafe\u0301", "cafe|cafe", "caf\u00e9|cafe\u0301"},
		{"\u0130x", "ix", "\u0130x"},
		{"\ud55c\uad6d", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"}, // composed, and not
		{"\u0939\u093f\u0928\u094d", "\u0939\u093f\u0928", "\u0939\u093f\u0928\u094d"},
		{"x\u4e16\u754cy", "x|\u4e16|\u754c|y", "x|\u4e16|\u754c|y"},
		{"a\u200bb\x00c\x0bd\ufffde\ue000f", "abcdef", "abcdef"},
		{"a\u00a0b\u2028c", "a|b|c", "a|b|c"},
		{"a\xffb", "ab", "ab"},
	} {
		words := func(w *wordPiece) string {
			return strings.ReplaceAll(strings.Join(slices.Collect(w.words(c.text)), "|"), " ", "")
		}
		if got := words(&wordPiece{lower: true, noAccents: true}); got != c.plain {
			t.Errorf("%q: %q, want %q", c.text, got, c.plain)
		}
		if got := words(&wordPiece{}); got != c.cased {
			t.Errorf("%q, cased: %q, want %q", c.text, got, c.cased)
		}
	}
	if got := slices.Collect((&wordPiece{lower: true}).words("\u0130")); !slices.Equal(got, []string{" i\u0307"}) {
		t.Errorf("%q", got)
	}
}

func TestWordPiece_Append(t *testing.T) {
	w := &wordPiece{tokens: map[string]int32{" fro": 1, " frog": 2, "s": 3, "ging": 4, "g": 5, " ": 6, " \u00df": 7}, longest: 5, unknown: 9}
	for text, want := range map[string][]int32{
		"frog": {2}, "frogs": {2, 3}, "frogging": {2, 4}, "gs": {6, 5, 3}, "frogx": {9}, "x frogs x": {9, 2, 3, 9}, "\u00df": {7},
		"fro" + strings.Repeat("g", 97): append([]int32{2}, slices.Repeat([]int32{5}, 96)...), "fro" + strings.Repeat("g", 98): {9},
	} {
		if got, err := w.append(t.Context(), nil, text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if tokens, err := w.append(t.Context(), nil, strings.Repeat("\u0301", 1<<20)); err != nil || !slices.Equal(tokens, []int32{9}) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}
