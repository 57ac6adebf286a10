// SPDX-License-Identifier: MIT

package gguf

import "errors"

// What can be wrong with a file. Every error of this package wraps exactly one of these.
var (
	// ErrNotGGUF: the first bytes are not those of a GGUF file of a version and byte order that
	// can be read.
	ErrNotGGUF = errors.New("not a GGUF model file")
	// ErrTruncated: the file ends before what it announces; a download that was cut off looks like
	// this.
	ErrTruncated = errors.New("the model file is cut off")
	// ErrMalformed: the file contradicts itself or the format.
	ErrMalformed = errors.New("the model file is damaged")
	// ErrVocabularyOnly: a well-formed file without weights.
	ErrVocabularyOnly = errors.New("the file holds a vocabulary only, no weights")
	// ErrUnsupported: well-formed, but of a kind that cannot be served, such as one without a
	// tokenizer.
	ErrUnsupported = errors.New("the model is of a kind that cannot be served")
	// ErrAdapter: the file is no LoRA adapter of the model that it is to be used with.
	ErrAdapter = errors.New("no LoRA adapter for this model")
	// ErrControlVector: the same of a control vector.
	ErrControlVector = errors.New("no control vector for this model")
)
