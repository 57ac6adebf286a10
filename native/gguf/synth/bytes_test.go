// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
)

func TestWithBytes_AnyTextIsItsBytes(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, WithBytes(&b, builtIn))
	data := must.Get(os.ReadFile(builtIn))(t)
	was := must.Get(gguf.Read(bytes.NewReader(data), int64(len(data))))(t)
	is := must.Get(gguf.Check(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	if !bytes.Equal(data[was.DataOffset:], b.Bytes()[is.DataOffset:]) {
		t.Error("the weights changed")
	}
	path := filepath.Join(t.TempDir(), "bytes.gguf")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	m := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{VocabOnly: true}))(t)
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	const text = "Hello, \u00e9\n\t\u20ac \U0001F438!"
	tokens := must.Get(m.Tokenize(t.Context(), text, native.TokenizeOptions{AddSpecial: true, ParseSpecial: true}))(t)
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
