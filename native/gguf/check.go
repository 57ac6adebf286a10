// SPDX-License-Identifier: MIT

package gguf

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Check reads the header of a model file of size bytes and refuses what llama.cpp (v0.5.0) is
// known to abort, crash or hang on, as far as the header shows it. llama.cpp may still refuse a
// file that passes, or compute nonsense if its weights are damaged. The errors wrap ErrNotGGUF,
// ErrTruncated, ErrMalformed, ErrVocabularyOnly or ErrUnsupported and say what is wrong and where.
func Check(file io.ReaderAt, size int64) (*Header, error) {
	h, err := Read(file, size)
	if err != nil {
		return nil, err
	}
	for _, check := range []func(*Header) error{checkPart, checkKind, checkHyperparameters, checkVocabulary, checkTensors} {
		if err := check(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// checkPart refuses the later parts of a model in several files, which have tensors but none of
// the metadata.
func checkPart(h *Header) error {
	n := h.Splits()
	if v := h.Values["split.no"]; n > 1 && (v.Type != Uint16 || v.Int(0) != 0) {
		return fmt.Errorf("%w: it is not the first of %d files of its model; name the one ending in -00001-of-%05d.gguf", ErrUnsupported, n, n)
	}
	return nil
}

// checkKind refuses well-formed files that are not language models.
func checkKind(h *Header) error {
	arch := h.Architecture()
	if arch == "" {
		return fmt.Errorf("%w: general.architecture is absent or no string", ErrMalformed)
	}
	if kind := h.Values["general.type"].Text(); kind != "" && kind != "model" {
		return fmt.Errorf("%w: general.type is %q, not \"model\"", ErrUnsupported, kind)
	}
	if arch == "clip" {
		return fmt.Errorf("%w: an image encoder, which belongs to another model", ErrUnsupported)
	}
	if n := h.Splits(); len(h.Tensors) == 0 && n == 1 {
		return ErrVocabularyOnly
	}
	return nil
}

// Splits is the number of files the model is spread over, 1 for a whole one.
func (h *Header) Splits() int {
	v, ok := h.Values["split.count"]
	if !ok || v.Type != Uint16 {
		return 1
	}
	return max(1, int(v.Int(0)))
}

// checkTensors refuses weights in types that cannot be computed with, and an embedding that does
// not fit the vocabulary.
func checkTensors(h *Header) error {
	for _, t := range h.Tensors {
		if strings.HasSuffix(t.Name, ".weight") && !tensorTypes[t.Type].weights {
			return fmt.Errorf("%w: tensor %q has the type %v, which is none for weights", ErrMalformed, t.Name, t.Type)
		}
		if t.Name != "token_embd.weight" {
			continue
		}
		if n := len(h.Values[tokensKey].Strings()); len(t.Dims) != 2 || t.Dims[1] != uint64(n) {
			return fmt.Errorf("%w: tensor %q has the shape %v, the vocabulary %d tokens", ErrMalformed, t.Name, t.Dims, n)
		}
	}
	return nil
}

// scalar is a key's value if it is a scalar of the wanted type. llama.cpp knows one type for each
// key.
func (h *Header) scalar(key string, want Type) (v Value, ok bool, err error) {
	v, ok = h.Values[key]
	if ok && v.Type != want {
		return v, false, fmt.Errorf("%w: %s is of type %v instead of %v", ErrMalformed, key, v.Type, want)
	}
	return v, ok, nil
}

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
