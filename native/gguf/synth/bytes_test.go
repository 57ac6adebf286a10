// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

func TestWithBytes_AnyTextIsItsBytes(t *testing.T) {
	var b bytes.Buffer
	if err := WithBytes(&b, builtIn); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	was, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	is, err := gguf.Check(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data[was.DataOffset:], b.Bytes()[is.DataOffset:]) {
		t.Error("the weights changed")
	}
	path := filepath.Join(t.TempDir(), "bytes.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := native.LoadModel(t.Context(), path, native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	const text = "Hello, \u00e9\n\t\u20ac \U0001F438!"
	tokens, err := m.Tokenize(t.Context(), text, native.TokenizeOptions{AddSpecial: true, ParseSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens) != len(text) {
		t.Errorf("%d tokens for %d bytes", len(tokens), len(text))
	}
	back := ""
	for i, token := range tokens {
		back += m.Piece(token)
		if token != int32(text[i]) {
			t.Errorf("byte %d is token %d, want %d", i, token, text[i])
		}
	}
	for token := range int32(256) {
		if m.EndOfGeneration(token) != (token == 0) {
			t.Errorf("token %d ends answers: %t", token, token != 0)
		}
	}
	if back != text {
		t.Errorf("it comes back as %q", back)
	}
}
