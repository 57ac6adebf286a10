// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/tools/steadytest"
)

// The texts and tokens of llama.cpp's own tokeniser test.
func TestModel_Tokenize_LlamaVocabularies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(llamaSource(t), "models", "ggml-vocab-*.gguf.inp"))
	if err != nil {
		t.Fatal(err)
	}
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
				tokens, err := m.Tokenize(t.Context(), text, TokenizeOptions{})
				if err != nil {
					t.Fatal(err)
				}
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
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
	tokens, err := m.Tokenize(t.Context(), prompt, TokenizeOptions{AddSpecial: true, ParseSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	out := generate(t, newContext(t, m, o), newSampler(t, m, greedy()), tokens, n)
	text, err := m.Detokenize(out, DetokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
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
