// SPDX-License-Identifier: MIT

package gguf

import (
	"fmt"
	"math"
	"strings"
)

const (
	tokenizerKey = "tokenizer.ggml.model"
	tokensKey    = "tokenizer.ggml.tokens"
	typesKey     = "tokenizer.ggml.token_type"
	scoresKey    = "tokenizer.ggml.scores"
	mergesKey    = "tokenizer.ggml.merges"
)

// checkVocabulary refuses the vocabularies llama_vocab::impl::load aborts on or reads past the end
// of.
func checkVocabulary(h *Header) error {
	model, ok, err := h.scalar(tokenizerKey, String)
	if err != nil {
		return err
	}
	if kind := model.Text(); !ok || kind == "none" || kind == "no_vocab" {
		return fmt.Errorf("%w: it has no tokenizer (%s is %q)", ErrUnsupported, tokenizerKey, kind)
	}
	tokens, err := h.array(tokensKey, String)
	if err != nil {
		return err
	}
	if tokens == nil || tokens.Len() == 0 {
		return fmt.Errorf("%w: %s is absent or empty", ErrMalformed, tokensKey)
	}
	if err := checkTokens(tokens.Strings()); err != nil {
		return err
	}
	for key, elems := range map[string][]Type{typesKey: {Int32}, scoresKey: {Float32, Int32}} {
		list, err := h.array(key, elems...)
		if err != nil {
			return err
		}
		if list != nil && list.Len() < tokens.Len() {
			return fmt.Errorf("%w: %s has %d entries for %d tokens", ErrMalformed, key, list.Len(), tokens.Len())
		}
	}
	if _, err := h.array(mergesKey, String); err != nil {
		return err
	}
	return h.checkSpecial(tokens.Len())
}

// checkTokens refuses a token that appears twice. llama.cpp reads each up to its first zero byte
// and names an empty one after its number before it compares them.
func checkTokens(tokens []string) error {
	first := make(map[string]int, len(tokens))
	for i, t := range tokens {
		t, _, _ = strings.Cut(t, "\x00")
		if t == "" {
			t = fmt.Sprintf("[EMPTY_%d]", i)
		}
		if j, twice := first[t]; twice {
			return fmt.Errorf("%w: %s holds %.64q twice, as %d and %d", ErrMalformed, tokensKey, t, j, i)
		}
		first[t] = i
	}
	return nil
}

// checkSpecial refuses special tokens outside the vocabulary: llama.cpp replaces them by a guess,
// so that an answer would never end. All ones is the "none" of some converters.
func (h *Header) checkSpecial(tokens int) error {
	for _, name := range []string{"bos", "eos", "eot", "eom"} {
		key := "tokenizer.ggml." + name + "_token_id"
		v, ok, err := h.scalar(key, Uint32)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if id := v.Int(0); id >= int64(tokens) && id != math.MaxUint32 {
			return fmt.Errorf("%w: %s is %d, the vocabulary has %d tokens", ErrMalformed, key, id, tokens)
		}
	}
	return nil
}

// array is the value of a key if it is an array of one of the given element types, nil if the key
// is absent.
func (h *Header) array(key string, elems ...Type) (*Value, error) {
	v, ok := h.Values[key]
	if !ok {
		return nil, nil
	}
	for _, e := range elems {
		if v.Type == Array && v.Elem == e {
			return &v, nil
		}
	}
	return nil, fmt.Errorf("%w: %s is not an array of %v", ErrMalformed, key, elems)
}
