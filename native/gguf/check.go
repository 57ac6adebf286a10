// SPDX-License-Identifier: MIT

package gguf

import (
	"fmt"
	"io"
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
