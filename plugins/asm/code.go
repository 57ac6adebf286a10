// SPDX-License-Identifier: MIT

package asm

import (
	"encoding/binary"
	"math"
	"slices"
)

// Instructions without operands, and a few whole ones.
var (
	End         = []byte{0x0b}
	Drop        = []byte{0x1a}
	Unreachable = []byte{0x00}
	Return      = []byte{0x0f}
	Add         = []byte{0x6a} // of i32, as the following
	Subtract    = []byte{0x6b}
	Multiply    = []byte{0x6c}
	Divide      = []byte{0x6d}
	Remainder   = []byte{0x70} // unsigned
	And         = []byte{0x71}
	Or          = []byte{0x72}
	ShiftLeft   = []byte{0x74}
	ShiftRight  = []byte{0x76} // unsigned
	Equal       = []byte{0x46}
	EqualZero   = []byte{0x45}
	Less        = []byte{0x49} // unsigned
	AtMostF32   = []byte{0x5f}
	EqualF32    = []byte{0x5b} // no number equals itself
	SubtractF32 = []byte{0x93}
	Add64       = []byte{0x7c}
	Equal64     = []byte{0x51}
	Less64      = []byte{0x54} // unsigned
	Wrap        = []byte{0xa7} // an i64 to its lower half
	Load        = []byte{0x28, 2, 0}
	LoadByte    = []byte{0x2d, 0, 0}
	Load64      = []byte{0x29, 3, 0}
	LoadF32     = []byte{0x2a, 2, 0}
	Store       = []byte{0x36, 2, 0}
	Store64     = []byte{0x37, 3, 0}
	StoreF32    = []byte{0x38, 2, 0}
	GrowMemory  = []byte{0x40, 0}
	GrowTable   = []byte{0xfc, 15, 0} // by so many elements, each the reference below on the stack
	NoFunction  = []byte{0xd0, 0x70}
	Fill        = []byte{0xfc, 11, 0}                     // of memory: address, byte, length
	Forever     = []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x00} // an empty endless loop
	SetTable    = []byte{0xd0, 0x70, 0x26, 0}             // stores no function where the stack says
)

// I32 is a constant.
func I32(n int) []byte { return append([]byte{0x41}, signed(int64(int32(n)))...) }

// I64 is a constant.
func I64(n int64) []byte { return append([]byte{0x42}, signed(n)...) }

// F32 is a constant.
func F32(x float32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x43}, math.Float32bits(x))
}

// Local reads a parameter or local.
func Local(n int) []byte { return []byte{0x20, byte(n)} }

// SetLocal writes a parameter or local.
func SetLocal(n int) []byte { return []byte{0x21, byte(n)} }

// Global reads a global.
func Global(n int) []byte { return []byte{0x23, byte(n)} }

// SetGlobal writes a global.
func SetGlobal(n int) []byte { return []byte{0x24, byte(n)} }

// CallFunction calls a function by its index, imports first.
func CallFunction(n int) []byte { return append([]byte{0x10}, unsigned(uint64(n))...) }

// Poke stores an i32 at an address.
func Poke(at, n int) []byte { return slices.Concat(I32(at), I32(n), Store) }

// PokeF stores an f32 at an address.
func PokeF(at int, x float32) []byte { return slices.Concat(I32(at), F32(x), StoreF32) }

// When runs code if the i32 on the stack is not 0.
func When(code ...[]byte) []byte {
	return slices.Concat([]byte{0x04, 0x40}, slices.Concat(code...), End)
}

// Loop repeats code forever.
func Loop(code ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(code...), []byte{0x0c, 0}, End, Unreachable)
}

// While repeats code for as long as the i32 that it leaves is not 0.
func While(code ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(code...), []byte{0x0d, 0}, End)
}

// Each runs code with a local that counts from 0 up to what count leaves.
func Each(n int, count []byte, code ...[]byte) []byte {
	step := slices.Concat(Local(n), I32(1), Add, SetLocal(n))
	return slices.Concat(I32(0), SetLocal(n), []byte{0x02, 0x40, 0x03, 0x40}, Local(n), count, Less, EqualZero, []byte{0x0d, 1},
		slices.Concat(code...), step, []byte{0x0c, 0}, End, End)
}

func unsigned(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func signed(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && c&0x40 == 0) || (n == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
