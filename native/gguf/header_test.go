// SPDX-License-Identifier: MIT

package gguf

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// builtIn is the built-in model's file.
func builtIn(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("../../host/model/penstock-tiny.gguf")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func readBytes(data []byte) (*Header, error) { return Read(bytes.NewReader(data), int64(len(data))) }

func checkBytes(data []byte) (*Header, error) { return Check(bytes.NewReader(data), int64(len(data))) }

// rebuild changes the built-in model's header and returns the file with it.
func rebuild(tb testing.TB, change func(*Header)) []byte {
	tb.Helper()
	data := builtIn(tb)
	h, err := readBytes(data)
	if err != nil {
		tb.Fatal(err)
	}
	body := data[h.DataOffset:]
	change(h)
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return append(b.Bytes(), body...)
}

func TestHeader_Write_GivesTheBytesRead(t *testing.T) {
	if want := builtIn(t); !bytes.Equal(rebuild(t, func(*Header) {}), want) {
		t.Error("reading and writing the built-in model's header changed it")
	}
}

func TestRead_BuiltInModel(t *testing.T) {
	h, err := readBytes(builtIn(t))
	if err != nil {
		t.Fatal(err)
	}
	if h.Architecture() != "llama" || len(h.Tensors) != 47 || h.TensorBytes() != 1655360 {
		t.Errorf("architecture %q, %d tensors of %d bytes", h.Architecture(), len(h.Tensors), h.TensorBytes())
	}
	if n := h.Values["llama.block_count"].Int(0); n != 5 {
		t.Errorf("block_count is %d", n)
	}
	if eps := h.Values["llama.attention.layer_norm_rms_epsilon"].Float(0); eps < 0.9e-5 || eps > 1.1e-5 {
		t.Errorf("epsilon is %g", eps)
	}
	if n := h.Values["tokenizer.ggml.tokens"].Len(); n != 1536 {
		t.Errorf("%d tokens", n)
	}
}

func TestRead_TruncatedAnywhere_IsRefused(t *testing.T) {
	data := builtIn(t)
	h, err := readBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	step := 53
	for n := 0; n < len(data)-int(h.Alignment); n += step {
		if n > int(h.DataOffset) {
			step = 4093
		}
		_, err := readBytes(data[:n])
		if !errors.Is(err, ErrTruncated) && !(n < 4 && errors.Is(err, ErrNotGGUF)) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestRead_BadStructure_IsRefused(t *testing.T) {
	patch := func(at int, b ...byte) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			data := builtIn(t)
			copy(data[at:], b)
			return data
		}
	}
	change := func(f func(*Header)) func(*testing.T) []byte {
		return func(t *testing.T) []byte { return rebuild(t, f) }
	}
	nested := func(t *testing.T) []byte {
		data := builtIn(t)
		data[bytes.Index(data, []byte(tokensKey))+len(tokensKey)+4] = byte(Array)
		return data
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	for name, c := range map[string]struct {
		file func(*testing.T) []byte
		want error
		says string
	}{
		"empty":            {func(*testing.T) []byte { return nil }, ErrNotGGUF, "empty"},
		"text":             {func(*testing.T) []byte { return []byte("hello, this is no model") }, ErrNotGGUF, `"hell"`},
		"version 1":        {patch(4, 1), ErrNotGGUF, "version 1"},
		"big endian":       {patch(4, 0, 0, 0, 3), ErrNotGGUF, "little-endian"},
		"tensor count":     {patch(8, huge...), ErrMalformed, "tensors"},
		"key count":        {patch(16, huge...), ErrMalformed, "metadata keys"},
		"key length":       {patch(24, huge...), ErrMalformed, "metadata key 0"},
		"empty key":        {change(func(h *Header) { h.Keys[2] = "" }), ErrMalformed, "metadata key 2"},
		"key twice":        {change(func(h *Header) { h.Keys[2] = h.Keys[1] }), ErrMalformed, "twice"},
		"array of arrays":  {nested, ErrMalformed, "value of array"},
		"unknown type":     {change(func(h *Header) { h.Set("x", Value{Type: 77, Elem: Uint8, raw: []byte{1}}) }), ErrMalformed, "type 77"},
		"alignment 0":      {change(func(h *Header) { h.Set("general.alignment", NewUint32(0)) }), ErrMalformed, "general.alignment is 0"},
		"alignment 48":     {change(func(h *Header) { h.Set("general.alignment", NewUint32(48)) }), ErrMalformed, "power of two"},
		"alignment string": {change(func(h *Header) { h.Set("general.alignment", NewString("32")) }), ErrMalformed, "u32"},
		"tensor twice":     {change(func(h *Header) { h.Tensors[3].Name = h.Tensors[2].Name }), ErrMalformed, "twice"},
		"long name":        {change(func(h *Header) { h.Tensors[3].Name = strings.Repeat("x", 64) }), ErrMalformed, "too long"},
		"no dimensions":    {change(func(h *Header) { h.Tensors[3].Dims = nil }), ErrMalformed, "0 dimensions"},
		"five dimensions":  {change(func(h *Header) { h.Tensors[3].Dims = []uint64{32, 1, 1, 1, 1} }), ErrMalformed, "5 dimensions"},
		"dimension 0":      {change(func(h *Header) { h.Tensors[3].Dims[0] = 0 }), ErrMalformed, "shape"},
		"overflow":         {change(func(h *Header) { h.Tensors[3].Dims = []uint64{1 << 32, 1 << 32} }), ErrMalformed, "shape"},
		"removed type":     {change(func(h *Header) { h.Tensors[3].Type = 4 }), ErrMalformed, "tensor type 4"},
		"ragged rows":      {change(func(h *Header) { h.Tensors[0].Dims[0] = 161 }), ErrMalformed, "not a multiple of 32"},
		"offset":           {change(func(h *Header) { h.Tensors[3].Offset += 32 }), ErrMalformed, "offset"},
		"past the end":     {change(func(h *Header) { h.Tensors[46].Dims[1] *= 1 << 20 }), ErrTruncated, "ends at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBytes(c.file(t))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}
