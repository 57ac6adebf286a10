// SPDX-License-Identifier: MIT

package gguf

import (
	"bytes"
	"errors"
	"math"
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

func TestCheck_BuiltInModel_Passes(t *testing.T) {
	if _, err := checkBytes(builtIn(t)); err != nil {
		t.Error(err)
	}
}

func TestCheck_BadMetadata_IsRefused(t *testing.T) {
	set := func(key string, v Value) func(*Header) { return func(h *Header) { h.Set(key, v) } }
	token := func(i int, text string) func(*Header) {
		return func(h *Header) { h.Values[tokensKey].strings[i] = text }
	}
	shorten := func(key string) func(*Header) {
		return func(h *Header) { v := h.Values[key]; v.raw = v.raw[:4]; h.Values[key] = v }
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		change func(*Header)
		want   error
		says   string
	}{
		"no architecture":      {set("general.architecture", NewUint32(1)), ErrMalformed, "general.architecture"},
		"adapter":              {set("general.type", NewString("adapter")), ErrUnsupported, "adapter"},
		"image encoder":        {set("general.architecture", NewString("clip")), ErrUnsupported, "image"},
		"no weights":           {func(h *Header) { h.Tensors = nil }, ErrVocabularyOnly, ""},
		"no layers":            {set("llama.block_count", NewUint32(0)), ErrMalformed, "block_count is 0"},
		"513 layers":           {set("llama.block_count", NewUint32(513)), ErrMalformed, "1 to 512"},
		"layers as text":       {set("llama.block_count", NewString("5")), ErrMalformed, "instead of u32"},
		"no context":           {set("llama.context_length", NewUint32(0)), ErrMalformed, "context_length"},
		"no heads":             {set("llama.attention.head_count", NewUint32(0)), ErrMalformed, "head_count"},
		"heads as float":       {set("llama.attention.head_count", NewFloat32(5)), ErrMalformed, "head_count"},
		"kv heads":             {set("llama.attention.head_count_kv", NewUint32(2)), ErrMalformed, "divisor"},
		"width":                {set("llama.embedding_length", NewUint32(1<<31)), ErrMalformed, "embedding_length"},
		"negative epsilon":     {set("llama.attention.layer_norm_rms_epsilon", NewFloat32(-1)), ErrMalformed, "epsilon"},
		"epsilon not a number": {set("llama.attention.layer_norm_rms_epsilon", NewFloat32(nan)), ErrMalformed, "NaN"},
		"infinite rope":        {set("llama.rope.freq_base", NewFloat32(inf)), ErrMalformed, "freq_base"},
		"rope base 0":          {set("llama.rope.freq_base", NewFloat32(0)), ErrMalformed, "freq_base"},
		"rope scaling":         {set("llama.rope.scaling.type", NewString("magic")), ErrMalformed, "magic"},
		"experts without use":  {set("llama.expert_count", NewUint32(8)), ErrMalformed, "expert_used_count"},
		"used without experts": {set("llama.expert_used_count", NewUint32(2)), ErrMalformed, "expert_used_count"},
		"expert groups":        {set("llama.expert_group_count", NewUint32(2)), ErrMalformed, "expert_group_count"},
		"pooling":              {set("llama.pooling_type", NewUint32(9)), ErrMalformed, "pooling_type"},
		"nextn layers":         {set("llama.nextn_predict_layers", NewUint32(6)), ErrMalformed, "nextn"},
		"layer list":           {set("llama.feed_forward_length", Value{Type: Array, Elem: Uint32, raw: make([]byte, 8)}), ErrMalformed, "5 layers"},
		"no tokenizer":         {set(tokenizerKey, NewString("none")), ErrUnsupported, "tokenizer"},
		"tokens as text":       {set(tokensKey, NewString("a")), ErrMalformed, tokensKey},
		"no tokens":            {set(tokensKey, NewStrings()), ErrMalformed, tokensKey},
		"fewer tokens":         {set(tokensKey, NewStrings("a", "b", "c")), ErrMalformed, "token_embd"},
		"token twice":          {token(9, "<|im_end|>"), ErrMalformed, "twice, as 2 and 9"},
		"empty token's name":   {func(h *Header) { token(9, "")(h); token(8, "[EMPTY_9]")(h) }, ErrMalformed, "twice"},
		"same up to a zero":    {token(9, "<|im_end|>\x00x"), ErrMalformed, "twice, as 2 and 9"},
		"few token types":      {shorten(typesKey), ErrMalformed, "1 entries for 1536"},
		"scores as text":       {set(scoresKey, NewStrings("1")), ErrMalformed, scoresKey},
		"merges as text":       {set(mergesKey, NewString("a b")), ErrMalformed, mergesKey},
		"end token":            {set("tokenizer.ggml.eos_token_id", NewUint32(1536)), ErrMalformed, "1536"},
		"integer weights":      {func(h *Header) { h.Tensors[1].Type = 26 }, ErrMalformed, "I32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := checkBytes(rebuild(t, c.change))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func TestCheck_UnusualButLegal_Passes(t *testing.T) {
	for name, change := range map[string]func(*Header){
		"heads by layer": func(h *Header) {
			h.Set("llama.attention.head_count", Value{Type: Array, Elem: Int32, raw: put32(5, 5, 5, 5, 0)})
		},
		"one empty token":   func(h *Header) { h.Values[tokensKey].strings[9] = "" },
		"no end token":      func(h *Header) { h.Set("tokenizer.ggml.eos_token_id", NewUint32(math.MaxUint32)) },
		"unknown key":       func(h *Header) { h.Set("penstock.note", NewString("hello")) },
		"other alignment":   func(h *Header) { h.Set("general.alignment", NewUint32(32)) },
		"no pooling said":   func(h *Header) { h.Set("llama.pooling_type", NewUint32(math.MaxUint32)) },
		"split in one part": func(h *Header) { h.Set("split.count", NewUint16(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := checkBytes(rebuild(t, change)); err != nil {
				t.Error(err)
			}
		})
	}
}

// put32 is the raw form of 32-bit numbers.
func put32(numbers ...uint32) (raw []byte) {
	for _, n := range numbers {
		raw = append(raw, NewUint32(n).raw...)
	}
	return raw
}
