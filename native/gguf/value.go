// SPDX-License-Identifier: MIT

package gguf

import (
	"encoding/binary"
	"fmt"
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
