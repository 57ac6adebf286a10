// SPDX-License-Identifier: MIT

package hosts

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
)

// BuiltIn is the path of the built-in model, from the folder of a package of tests.
const BuiltIn = "../../host/model/penstock-tiny.gguf"

// ModelFolder has two small models that answer differently, one that is broken, and the built-in
// one.
func ModelFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, architecture := range map[string]string{"window": "cohere2", "state": "mamba"} {
		if err := synth.SmallFile(filepath.Join(dir, name+".gguf"), architecture, 1); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(BuiltIn)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tale": data, "broken": data[:len(data)/2]} {
		if err := os.WriteFile(filepath.Join(dir, name+".gguf"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// SmallModel is the path of a small random model of a kind, which is written once. Nobody changes
// it.
func SmallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(process.dir, kind+".gguf")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := synth.SmallFile(path, kind, 1); err != nil {
		t.Fatal(err)
	}
	return path
}

// Written is the path of a new file with what write writes.
func Written(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Vocabulary is the built-in model without its weights.
func Vocabulary(t *testing.T) *native.Model {
	t.Helper()
	m, err := native.LoadModel(t.Context(), BuiltIn, native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Piece is the text of a token of the built-in model.
func Piece(t *testing.T, token int) string {
	t.Helper()
	return Vocabulary(t).SpecialPiece(int32(token))
}
