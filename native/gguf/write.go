// SPDX-License-Identifier: MIT

package gguf

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

// NewString makes a string value.
func NewString(s string) Value { return Value{Type: String, Elem: String, strings: []string{s}} }

// NewUint16 makes a u16 value, the type of the numbers of a split model's parts.
func NewUint16(n uint16) Value {
	return Value{Type: Uint16, Elem: Uint16, raw: binary.LittleEndian.AppendUint16(nil, n)}
}

// NewUint32 makes a u32 value, the type of most hyperparameters.
func NewUint32(n uint32) Value {
	return Value{Type: Uint32, Elem: Uint32, raw: binary.LittleEndian.AppendUint32(nil, n)}
}

// NewFloat32 makes an f32 value.
func NewFloat32(f float32) Value {
	return Value{Type: Float32, Elem: Float32, raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(f))}
}

// NewBool makes a truth value.
func NewBool(b bool) Value {
	raw := []byte{0}
	if b {
		raw[0] = 1
	}
	return Value{Type: Bool, Elem: Bool, raw: raw}
}

// NewStrings makes an array of strings.
func NewStrings(s ...string) Value { return Value{Type: Array, Elem: String, strings: s} }

// NewUint32s makes an array of u32.
func NewUint32s(numbers ...uint32) Value {
	v := Value{Type: Array, Elem: Uint32}
	for _, n := range numbers {
		v.raw = binary.LittleEndian.AppendUint32(v.raw, n)
	}
	return v
}

// NewInt32s makes an array of i32.
func NewInt32s(numbers ...int32) Value {
	v := Value{Type: Array, Elem: Int32}
	for _, n := range numbers {
		v.raw = binary.LittleEndian.AppendUint32(v.raw, uint32(n))
	}
	return v
}

// NewFloat32s makes an array of f32.
func NewFloat32s(numbers ...float32) Value {
	v := Value{Type: Array, Elem: Float32}
	for _, f := range numbers {
		v.raw = binary.LittleEndian.AppendUint32(v.raw, math.Float32bits(f))
	}
	return v
}

// Set adds a metadata value or replaces the one of that key.
func (h *Header) Set(key string, v Value) {
	if h.Values == nil {
		h.Values = map[string]Value{}
	}
	if _, known := h.Values[key]; !known {
		h.Keys = append(h.Keys, key)
	}
	h.Values[key] = v
}

// Append adds a tensor after the others and returns how many bytes its data takes with padding.
func (h *Header) Append(name string, kind TensorType, dims ...uint64) (padded uint64) {
	t := Tensor{Name: name, Type: kind, Dims: dims}
	if n := len(h.Tensors); n > 0 {
		last := h.Tensors[n-1]
		t.Offset = pad(last.Offset+last.Size(), h.align())
	}
	h.Tensors = append(h.Tensors, t)
	return pad(t.Size(), h.align())
}

// Write writes the header with the padding that ends it, and sets DataOffset; the tensors' data
// follow, each padded to Alignment. The version is 3 unless Version says otherwise.
func (h *Header) Write(w io.Writer) error {
	if h.Version == 0 {
		h.Version = 3
	}
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, h.Version, uint64(len(h.Tensors)), uint64(len(h.Keys)))
	for _, key := range h.Keys {
		putString(&b, key)
		putValue(&b, h.Values[key])
	}
	for _, t := range h.Tensors {
		putString(&b, t.Name)
		put(&b, uint32(len(t.Dims)), t.Dims, uint32(t.Type), t.Offset)
	}
	h.DataOffset = int64(pad(uint64(b.Len()), h.align()))
	b.Write(make([]byte, int(h.DataOffset)-b.Len()))
	_, err := w.Write(b.Bytes())
	return err
}

func (h *Header) align() uint64 {
	if h.Alignment == 0 {
		h.Alignment = 32
	}
	return h.Alignment
}

func putValue(b *bytes.Buffer, v Value) {
	put(b, uint32(v.Type))
	if v.Type == Array {
		put(b, uint32(v.Elem), uint64(v.Len()))
	}
	for _, s := range v.strings {
		putString(b, s)
	}
	b.Write(v.raw)
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

// put writes fixed-size numbers, little endian; a bytes.Buffer takes everything, so there is no
// error to return.
func put(b *bytes.Buffer, numbers ...any) {
	for _, n := range numbers {
		_ = binary.Write(b, binary.LittleEndian, n)
	}
}
