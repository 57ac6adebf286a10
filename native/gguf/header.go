// SPDX-License-Identifier: MIT

// Package gguf reads, checks and writes model files in the GGUF format, versions 2 and 3, little
// endian.
//
// It exists because llama.cpp trusts its input in places: a damaged file can end the process.
// Check refuses such files as far as their header shows it; an unknown file should still be loaded
// in a child process first.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Header is everything in front of the tensor data.
type Header struct {
	Version uint32
	// Keys are the metadata keys in the order of the file.
	Keys   []string
	Values map[string]Value
	// Tensors are in the order of the file, which is the order of their data.
	Tensors []Tensor
	// Alignment of the data section and of each tensor in it, in bytes: a power of two.
	Alignment uint64
	// DataOffset is where the data section starts, in bytes from the start of the file.
	DataOffset int64
}

// TensorBytes is the size of all weights in bytes.
func (h *Header) TensorBytes() uint64 {
	var n uint64
	for _, t := range h.Tensors {
		n += t.Size()
	}
	return n
}

// Architecture is the value of general.architecture, empty if absent.
func (h *Header) Architecture() string { return h.Values["general.architecture"].Text() }

// Read reads the header of a file of size bytes and checks that it is well-formed and that all
// tensor data lies in the file. It does not judge what the metadata says: see Check.
func Read(file io.ReaderAt, size int64) (*Header, error) {
	r := newReader(file, size)
	h := &Header{Values: map[string]Value{}}
	keys, tensors, err := h.readStart(r)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if err := h.readKey(r, i); err != nil {
			return nil, err
		}
	}
	if err := h.readAlignment(); err != nil {
		return nil, err
	}
	names := make(map[string]bool, min(tensors, 1<<10))
	for i := range tensors {
		if err := h.readTensor(r, i, names); err != nil {
			return nil, err
		}
	}
	h.DataOffset = int64(pad(uint64(r.pos), h.Alignment))
	return h, h.checkOffsets(size)
}

func (h *Header) readStart(r *reader) (keys, tensors uint64, err error) {
	r.reading("the file's start")
	if r.size == 0 {
		return 0, 0, fmt.Errorf("%w: the file is empty", ErrNotGGUF)
	}
	magic, err := r.take(4)
	if err != nil || string(magic) != "GGUF" {
		return 0, 0, fmt.Errorf("%w: it starts with %q instead of \"GGUF\"", ErrNotGGUF, magic)
	}
	if h.Version, err = r.uint32(); err != nil {
		return 0, 0, err
	}
	if h.Version != 2 && h.Version != 3 {
		return 0, 0, fmt.Errorf("%w: GGUF version %d, only 2 and 3 in little-endian order can be read", ErrNotGGUF, h.Version)
	}
	if tensors, err = r.uint64(); err != nil {
		return 0, 0, err
	}
	if keys, err = r.uint64(); err != nil {
		return 0, 0, err
	}
	if keys > maxKeys || tensors > maxTensors {
		return 0, 0, r.malformed("%d metadata keys and %d tensors", keys, tensors)
	}
	return keys, tensors, nil
}

func (h *Header) readKey(r *reader, i uint64) error {
	r.reading("metadata key %d", i)
	key, err := r.string()
	if err != nil {
		return err
	}
	if key == "" {
		return r.malformed("the key is empty")
	}
	r.reading("metadata key %.64q", key)
	if _, twice := h.Values[key]; twice {
		return r.malformed("the key appears twice")
	}
	v, err := r.value()
	if err != nil {
		return err
	}
	h.Keys = append(h.Keys, key)
	h.Values[key] = v
	return nil
}

func (h *Header) readAlignment() error {
	const key = "general.alignment"
	h.Alignment = 32
	v, ok := h.Values[key]
	if !ok {
		return nil
	}
	if v.Type != Uint32 {
		return fmt.Errorf("%w: %s is a %v instead of a u32", ErrMalformed, key, v.Type)
	}
	n := uint64(v.Int(0))
	if n == 0 || n&(n-1) != 0 || n > 1<<20 {
		return fmt.Errorf("%w: %s is %d, not a power of two up to 1 MiB", ErrMalformed, key, n)
	}
	h.Alignment = n
	return nil
}

func (h *Header) readTensor(r *reader, i uint64, names map[string]bool) error {
	const maxName, maxDims = 63, 4 // GGML_MAX_NAME-1, GGML_MAX_DIMS
	r.reading("tensor %d", i)
	t := Tensor{}
	var err error
	if t.Name, err = r.string(); err != nil {
		return err
	}
	if len(t.Name) > maxName || names[t.Name] {
		return r.malformed("its name %.80q is too long or appears twice", t.Name)
	}
	names[t.Name] = true
	r.reading("tensor %q", t.Name)
	dims, err := r.uint32()
	if err != nil {
		return err
	}
	if dims == 0 || dims > maxDims {
		return r.malformed("%d dimensions, 1 to %d are allowed", dims, maxDims)
	}
	for range dims {
		d, err := r.uint64()
		if err != nil {
			return err
		}
		t.Dims = append(t.Dims, d)
	}
	kind, err := r.uint32()
	if err != nil {
		return err
	}
	t.Type = TensorType(kind)
	if t.Offset, err = r.uint64(); err != nil {
		return err
	}
	h.Tensors = append(h.Tensors, t)
	return t.validate()
}

// checkOffsets requires what llama.cpp does: the tensors follow one another, padded, without gaps,
// inside the file.
func (h *Header) checkOffsets(size int64) error {
	var next uint64
	for _, t := range h.Tensors {
		if t.Offset != next {
			return fmt.Errorf("%w: tensor %q has the offset %d instead of %d", ErrMalformed, t.Name, t.Offset, next)
		}
		if end := uint64(h.DataOffset) + t.Offset + t.Size(); end > uint64(size) {
			return fmt.Errorf("%w: tensor %q ends at byte %d of a file of %d bytes", ErrTruncated, t.Name, end, size)
		}
		next = pad(t.Offset+t.Size(), h.Alignment) // no overflow: it ends inside the file
	}
	return nil
}

// pad rounds n up to a multiple of align, a power of two.
func pad(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// Limits no real header comes near. They bound memory and time before a file has earned any trust:
// llama.cpp compares every key and every tensor name with all earlier ones.
const (
	maxHeader   = 256 << 20 // bytes of metadata and tensor descriptions
	maxString   = 64 << 20  // bytes
	maxElements = 1 << 24   // of an array
	maxKeys     = 1 << 15
	maxTensors  = 1 << 15
)

// reader reads the header from front to back and never asks for more bytes than the file has.
type reader struct {
	buf  *bufio.Reader
	pos  int64
	size int64 // of the file
	what string
}

func newReader(r io.ReaderAt, size int64) *reader {
	return &reader{buf: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10), size: size}
}

// reading names what comes next, for errors.
func (r *reader) reading(format string, args ...any) { r.what = fmt.Sprintf(format, args...) }

// malformed is an error about the thing being read.
func (r *reader) malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d: %s", ErrMalformed, r.what, r.pos, fmt.Sprintf(format, args...))
}

// take returns the next n bytes.
func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(r.size-r.pos) {
		return nil, fmt.Errorf("%w: %s at byte %d needs %d bytes, the file ends after %d",
			ErrTruncated, r.what, r.pos, n, r.size-r.pos)
	}
	if n > uint64(maxHeader-min(r.pos, maxHeader)) {
		return nil, r.malformed("the header is longer than %d MiB", maxHeader>>20)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.buf, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the file shrank meanwhile
			return nil, fmt.Errorf("%w: %s at byte %d", ErrTruncated, r.what, r.pos)
		}
		return nil, fmt.Errorf("reading the model file at byte %d: %w", r.pos, err)
	}
	r.pos += int64(n)
	return b, nil
}

func (r *reader) uint32() (uint32, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) uint64() (uint64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (r *reader) string() (string, error) {
	n, err := r.uint64()
	if err != nil {
		return "", err
	}
	if n > maxString {
		return "", r.malformed("a string of %d bytes", n)
	}
	b, err := r.take(n)
	return string(b), err
}

// value reads a metadata value with its type.
func (r *reader) value() (Value, error) {
	t, err := r.uint32()
	if err != nil {
		return Value{}, err
	}
	v := Value{Type: Type(t), Elem: Type(t)}
	n := uint64(1)
	if v.Type == Array {
		if t, err = r.uint32(); err != nil {
			return Value{}, err
		}
		v.Elem = Type(t)
		if n, err = r.uint64(); err != nil {
			return Value{}, err
		}
	}
	switch {
	case int(v.Elem) >= len(types) || v.Elem == Array:
		return Value{}, r.malformed("a value of %v", v.Elem)
	case n > maxElements:
		return Value{}, r.malformed("an array of %d elements", n)
	case v.Elem == String:
		v.strings, err = r.strings(n)
	default:
		v.raw, err = r.take(n * uint64(types[v.Elem].size))
	}
	return v, err
}

func (r *reader) strings(n uint64) ([]string, error) {
	if left := uint64(r.size - r.pos); n > left/8 { // each has at least its length in front
		return nil, fmt.Errorf("%w: %s at byte %d has %d strings, the file ends after %d bytes", ErrTruncated, r.what, r.pos, n, left)
	}
	out := make([]string, 0, min(n, 1<<16))
	for range n {
		s, err := r.string()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

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
