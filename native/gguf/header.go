// SPDX-License-Identifier: MIT

// Package gguf reads, checks and writes model files in the GGUF format, versions 2 and 3, little
// endian.
//
// It exists because llama.cpp trusts its input in places: a damaged file can end the process.
// Check refuses such files as far as their header shows it; an unknown file should still be loaded
// in a child process first.
package gguf

import (
	"fmt"
	"io"
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
