// SPDX-License-Identifier: MIT

package gguf

import (
	"errors"
	"math"
	"strings"
	"testing"
)

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
