// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
)

// keepsNoState are the kinds without a recurrent state and a sliding window.
var keepsNoState = map[string]bool{"t5": true, "bert": true, "embedder": true, "reranker": true}

func TestSmall_IsWhatItIsSaidToBe(t *testing.T) {
	for name, is := range map[string]func(native.ModelInfo) bool{
		"mamba":     func(i native.ModelInfo) bool { return i.Recurrent && i.Window == 0 && i.Generates() },
		"falcon-h1": func(i native.ModelInfo) bool { return i.Hybrid && i.Window == 0 && i.Generates() },
		"cohere2":   func(i native.ModelInfo) bool { return !i.Recurrent && i.Window == smallWindow && i.Generates() },
		"t5":        func(i native.ModelInfo) bool { return i.Encoder && i.Decoder && !i.Generates() },
		"bert":      func(i native.ModelInfo) bool { return !i.Causal && !i.Generates() && i.Pooling == native.PoolingMean },
		"embedder":  func(i native.ModelInfo) bool { return i.Generates() && i.Pooling == native.PoolingLast },
		"reranker": func(i native.ModelInfo) bool {
			return !i.Causal && len(i.Classes) == 1 && i.Pooling == native.PoolingRank
		},
	} {
		var b bytes.Buffer
		must.Do(t, writeSmall(&b, name, 1))
		path := filepath.Join(t.TempDir(), "m.gguf")
		must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
		m := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{CheckTensors: true}))(t)
		if info := m.Info(); !is(info) || (info.OwnCells() != keepsNoState[name]) {
			t.Errorf("%s: %+v", name, info)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSmall_SameSeed_SameBytes(t *testing.T) {
	var a, b, other bytes.Buffer
	for w, seed := range map[*bytes.Buffer]uint64{&a: 1, &b: 1, &other: 2} {
		must.Do(t, writeSmall(w, "mamba", seed))
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || bytes.Equal(a.Bytes(), other.Bytes()) {
		t.Error("equal seeds gave other bytes, or other seeds the same")
	}
	if err := writeSmall(&a, "lama", 1); !errors.Is(err, ErrShape) {
		t.Errorf("an unknown architecture: %v", err)
	}
}

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
