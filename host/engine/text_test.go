// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

// sentencePiece is the path of a vocabulary that takes long for characters it does not have.
func sentencePiece(t *testing.T) string {
	t.Helper()
	source := cmp.Or(os.Getenv("LLAMA_CPP_DIR"), "../../build/llama.cpp/source-*")
	found, err := filepath.Glob(filepath.Join(source, "models", "ggml-vocab-llama-spm.gguf"))
	if err != nil || len(found) == 0 {
		t.Fatalf("llama.cpp's source is not there; run native/llama.cpp/build.sh build/llama.cpp (%v)", err)
	}
	return found[len(found)-1]
}

// A text that llama.cpp refuses is known by its kind. What a plugin logs and an operator reads are
// llama.cpp's words alone.
func TestTokenize_Refused_SaysWhatTheModelSays(t *testing.T) {
	m := must.Get(native.LoadModel(t.Context(), sentencePiece(t), native.ModelOptions{VocabOnly: true}))(t)
	e := &Engine{model: m}
	defer func() { _ = m.Close() }() // tested elsewhere
	frogs := strings.Repeat("🐸", 1<<18)
	_, want := m.Tokenize(t.Context(), frogs, native.TokenizeOptions{})
	if !errors.Is(want, native.ErrInvalid) {
		t.Fatalf("the model takes the text: %v", want)
	}
	_, byEngine := e.Tokenize(t.Context(), frogs, false, false)
	_, byVocabulary := e.Vocabulary().Tokenize(frogs, false, false)
	for name, err := range map[string]error{"engine": byEngine, "vocabulary": byVocabulary} {
		if err == nil || err.Error() != want.Error() || !errors.Is(err, native.ErrInvalid) {
			t.Errorf("%s: got %q, want %q", name, err, want)
		}
		if name == "engine" && !errors.Is(err, chat.ErrInvalidText) {
			t.Errorf("%s: %q is not of the kind that the API knows", name, err)
		}
	}
}
