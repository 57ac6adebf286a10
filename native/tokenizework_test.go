// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

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
