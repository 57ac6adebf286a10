// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/steadytest"
)

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
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, w)
	if err := synth.Edit(w, from, func(h *gguf.Header) { h.Set("tokenizer.ggml.model", gguf.NewString("t5")) }); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestModel_Tokenize_SpecialTokens_AsLlama: texts of special tokens, parts of them and what may
// stand between become the tokens that llama.cpp makes of them.
func TestModel_Tokenize_SpecialTokens_AsLlama(t *testing.T) {
	r := steadytest.Rand(t)
	for _, file := range steadytest.Some(t, vocabularies(t), 6) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := load(t, file, ModelOptions{VocabOnly: true})
			for range steadytest.InLongTest(400, 60) {
				text := textOfSpecials(r, &m.vocab.specials)
				o := TokenizeOptions{AddSpecial: r.IntN(2) == 0, ParseSpecial: r.IntN(4) > 0}
				want, err := m.appendLlamaTokens(t.Context(), nil, text, o)
				if err != nil {
					t.Fatal(err)
				}
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
