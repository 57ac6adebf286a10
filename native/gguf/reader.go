// SPDX-License-Identifier: MIT

package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

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
