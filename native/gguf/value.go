// SPDX-License-Identifier: MIT

package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Type is the type of a metadata value, numbered as in the file.
type Type uint32

// The types of the format. An array's elements may be of any type but Array.
const (
	Uint8 Type = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

var types = [...]struct {
	name string
	size int64 // bytes; 0 where the length varies
}{
	{"u8", 1}, {"i8", 1}, {"u16", 2}, {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
	{"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
}

func (t Type) String() string {
	if int(t) < len(types) {
		return types[t].name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Value is one metadata value: a scalar, a string or an array.
type Value struct {
	// Type is the value's type; Elem the elements' type of an Array, else equal to Type.
	Type, Elem Type

	raw     []byte   // numbers and booleans, little endian, as in the file
	strings []string // strings; one for a scalar
}

// Len is the number of elements: 1 for a scalar.
func (v Value) Len() int {
	if v.Elem == String {
		return len(v.strings)
	}
	return len(v.raw) / int(types[v.Elem].size)
}

// Strings are the elements of a string or an array of strings, nil for other types.
func (v Value) Strings() []string { return v.strings }

// Text is a scalar string's text, empty for other types.
func (v Value) Text() string {
	if v.Type != String {
		return ""
	}
	return v.strings[0]
}

// Int is element i of an integer or boolean value; 0 for other types. Values above the largest
// int64 come out negative.
func (v Value) Int(i int) int64 {
	switch v.Elem {
	case Uint8, Bool:
		return int64(v.raw[i])
	case Int8:
		return int64(int8(v.raw[i]))
	case Uint16:
		return int64(binary.LittleEndian.Uint16(v.raw[2*i:]))
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(v.raw[2*i:])))
	case Uint32:
		return int64(binary.LittleEndian.Uint32(v.raw[4*i:]))
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(v.raw[4*i:])))
	case Uint64, Int64:
		return int64(binary.LittleEndian.Uint64(v.raw[8*i:]))
	default:
		return 0
	}
}

// Float is element i of a floating-point value, 0 for other types.
func (v Value) Float(i int) float64 {
	switch v.Elem {
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw[4*i:])))
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.raw[8*i:]))
	default:
		return 0
	}
}

// TensorType is how a tensor's numbers are stored, numbered as in the file.
type TensorType uint32

// The types this package writes; the table below knows the rest.
const (
	F32  TensorType = 0
	F16  TensorType = 1
	Q4_0 TensorType = 2
	Q8_0 TensorType = 8
)

// block is a storage format: n numbers in size bytes. Weights says whether llama.cpp computes with
// it as a weight; the integer types and those that exist only inside a computation (Q8_1, Q8_K)
// make it abort.
type block struct {
	name    string
	n, size uint64
	weights bool
}

// tensorTypes is GGML_QUANT_SIZES of llama.cpp's gguf-py. The missing numbers are formats it no
// longer reads.
var tensorTypes = map[TensorType]block{
	0: {"F32", 1, 4, true}, 1: {"F16", 1, 2, true}, 30: {"BF16", 1, 2, true},
	2: {"Q4_0", 32, 18, true}, 3: {"Q4_1", 32, 20, true}, 6: {"Q5_0", 32, 22, true}, 7: {"Q5_1", 32, 24, true},
	8: {"Q8_0", 32, 34, true}, 9: {"Q8_1", 32, 36, false},
	10: {"Q2_K", 256, 84, true}, 11: {"Q3_K", 256, 110, true}, 12: {"Q4_K", 256, 144, true}, 13: {"Q5_K", 256, 176, true},
	14: {"Q6_K", 256, 210, true}, 15: {"Q8_K", 256, 292, false},
	16: {"IQ2_XXS", 256, 66, true}, 17: {"IQ2_XS", 256, 74, true}, 18: {"IQ3_XXS", 256, 98, true}, 19: {"IQ1_S", 256, 50, true},
	20: {"IQ4_NL", 32, 18, true}, 21: {"IQ3_S", 256, 110, true}, 22: {"IQ2_S", 256, 82, true}, 23: {"IQ4_XS", 256, 136, true},
	29: {"IQ1_M", 256, 56, true},
	24: {"I8", 1, 1, false}, 25: {"I16", 1, 2, false}, 26: {"I32", 1, 4, false}, 27: {"I64", 1, 8, false}, 28: {"F64", 1, 8, false},
	34: {"TQ1_0", 256, 54, true}, 35: {"TQ2_0", 256, 66, true}, 39: {"MXFP4", 32, 17, true}, 40: {"NVFP4", 64, 36, true},
	41: {"Q1_0", 128, 18, true}, 42: {"Q2_0", 64, 18, true},
}

func (t TensorType) String() string {
	if b, ok := tensorTypes[t]; ok {
		return b.name
	}
	return fmt.Sprintf("tensor type %d", uint32(t))
}

// Tensor describes one tensor; its numbers stay in the file.
type Tensor struct {
	Name string
	Type TensorType
	// Dims are the 1 to 4 dimensions, the fastest-running first.
	Dims []uint64
	// Offset is where its data starts, in bytes from Header.DataOffset.
	Offset uint64
}

// Elements is the number of numbers it holds.
func (t Tensor) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Size is the length of its data in bytes, without padding.
func (t Tensor) Size() uint64 {
	b := tensorTypes[t.Type]
	return t.Elements() / b.n * b.size
}

// validate refuses what the format does not allow, so that Elements and Size cannot overflow
// afterwards.
func (t Tensor) validate() error {
	b, ok := tensorTypes[t.Type]
	if !ok {
		return fmt.Errorf("%w: tensor %q has %v, which llama.cpp does not read", ErrMalformed, t.Name, t.Type)
	}
	n := uint64(1)
	for _, d := range t.Dims {
		if d == 0 || d > math.MaxInt64/16/n {
			return fmt.Errorf("%w: tensor %q has the shape %v", ErrMalformed, t.Name, t.Dims)
		}
		n *= d
	}
	if t.Dims[0]%b.n != 0 {
		return fmt.Errorf("%w: tensor %q has rows of %d numbers, not a multiple of %d as %v needs",
			ErrMalformed, t.Name, t.Dims[0], b.n, t.Type)
	}
	return nil
}

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
