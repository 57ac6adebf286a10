// SPDX-License-Identifier: MIT

// Package asm assembles plugins instruction by instruction, for tests and for the conformance kit.
// A test then shows what its guest does, and needs no toolchain.
package asm

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// Module is a WebAssembly module in the making; what it has none of is left out.
type Module struct {
	Imports  []abi.Signature // functions, by "module.name"
	Funcs    []Func
	Memory   []byte // its type as modules write it; it is exported
	Table    []byte // its type as modules write it
	Globals  int    // mutable i32, all 0
	Start    int    // the index of a function, imports first, plus 1
	Elements []byte // indices of functions, from the table's beginning on
	Data     []Data
	Passive  string // a data segment that lies nowhere until it is copied
	Omit     string // an export to leave out
}

// Func is a function; one with a name is exported.
type Func struct {
	abi.Signature
	Locals []Locals // besides the parameters
	Code   []byte   // without the end
}

// Locals are N locals of one type.
type Locals struct {
	N    uint32
	Type abi.Type
}

// Data is text that lies in memory from the beginning.
type Data struct {
	At   int
	Text string
}

// The sections of a module, by their numbers.
const (
	sectionType = iota + 1
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// Encode is the module as WebAssembly's binary format has it.
func (m *Module) Encode() []byte {
	var types, imports, functions, codes, globals, data [][]byte
	typeOf := func(s abi.Signature) []byte {
		t := slices.Concat([]byte{0x60}, valueTypes(s.Params), valueTypes(s.Results))
		i := slices.IndexFunc(types, func(known []byte) bool { return string(known) == string(t) })
		if i < 0 {
			types, i = append(types, t), len(types)
		}
		return unsigned(uint64(i))
	}
	for _, s := range m.Imports {
		module, function, _ := strings.Cut(s.Name, ".")
		imports = append(imports, slices.Concat(name(module), name(function), []byte{0}, typeOf(s)))
	}
	for _, f := range m.Funcs {
		functions = append(functions, typeOf(f.Signature))
		codes = append(codes, sized(f.body()))
	}
	for range m.Globals {
		globals = append(globals, slices.Concat([]byte{valueType("i32"), 1}, I32(0), End))
	}
	for _, d := range m.Data {
		data = append(data, slices.Concat([]byte{0}, I32(d.At), End, name(d.Text)))
	}
	b := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), list(sectionType, types...), list(sectionImport, imports...),
		list(sectionFunction, functions...), one(sectionTable, m.Table), one(sectionMemory, m.Memory), list(sectionGlobal, globals...),
		list(sectionExport, m.exports()...))
	if m.Start > 0 {
		b = append(b, section(sectionStart, unsigned(uint64(m.Start-1)))...)
	}
	if m.Elements != nil {
		b = append(b, list(sectionElement, slices.Concat([]byte{0}, I32(0), End, name(string(m.Elements))))...)
	}
	if m.Passive != "" {
		data = append(data, append([]byte{1}, name(m.Passive)...))
		b = append(b, section(sectionDataCount, unsigned(uint64(len(data))))...)
	}
	return slices.Concat(b, list(sectionCode, codes...), list(sectionData, data...))
}

func (f *Func) body() []byte {
	b := unsigned(uint64(len(f.Locals)))
	for _, l := range f.Locals {
		b = append(append(b, unsigned(uint64(l.N))...), valueType(l.Type))
	}
	return slices.Concat(b, f.Code, End)
}

func (m *Module) exports() (items [][]byte) {
	for i, f := range m.Funcs {
		if f.Name != "" && f.Name != m.Omit {
			items = append(items, slices.Concat(name(f.Name), []byte{0}, unsigned(uint64(len(m.Imports)+i))))
		}
	}
	if m.Memory != nil && m.Omit != "memory" {
		items = append(items, slices.Concat(name("memory"), []byte{2, 0}))
	}
	return items
}

func valueType(t abi.Type) byte {
	return map[abi.Type]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "v128": 0x7b, "funcref": 0x70}[t]
}

func valueTypes(types []abi.Type) []byte {
	b := unsigned(uint64(len(types)))
	for _, t := range types {
		b = append(b, valueType(t))
	}
	return b
}

// sized is bytes with their number before them, name a text's.
func sized(b []byte) []byte { return append(unsigned(uint64(len(b))), b...) }

func name(s string) []byte { return sized([]byte(s)) }

func section(id byte, body []byte) []byte { return append([]byte{id}, sized(body)...) }

// list is a section with items.
func list(id byte, items ...[]byte) []byte {
	if len(items) == 0 {
		return nil
	}
	return section(id, append(unsigned(uint64(len(items))), slices.Concat(items...)...))
}

// one is a section with one item at most.
func one(id byte, item []byte) []byte {
	if item == nil {
		return nil
	}
	return list(id, item)
}

// Guest is a plugin in the making. Functions with a name of the ABI get its type.
type Guest struct {
	Imports []abi.Signature // from module penstock, or from "module.name"
	Funcs   []Func
	Data    []Data
	Pages   uint32 // of 64 KiB
	Globals int    // mutable i32, all 0
	Start   string // a function of Funcs
	Omit    string // an export to leave out
	Table   uint32 // elements of a table of function references; 0: there is none
}

const (
	manifestAt = 8
	locals     = 4
)

// New is the least plugin, with 4 pages of memory: it describes itself by a manifest, which lies
// at address 8.
func New(manifest string) *Guest {
	g := (&Guest{Pages: 4}).Put(manifestAt, manifest)
	g.On(abi.ExportABIV1)
	return g.On(abi.ExportDescribe, I32(manifestAt), I32(len(manifest)), g.Call(abi.ImportEmit))
}

// Put lays text into memory, where it is from the beginning.
func (g *Guest) Put(at int, text string) *Guest {
	g.Data = append(g.Data, Data{at, text})
	return g
}

// On adds an exported function of the ABI.
func (g *Guest) On(name string, code ...[]byte) *Guest {
	return g.Function(signature(abi.Exports, name), locals, code...)
}

// Function adds any function; locals is its number of locals of type i32 besides the parameters.
func (g *Guest) Function(s abi.Signature, locals int, code ...[]byte) *Guest {
	g.Funcs = append(g.Funcs, Func{s, []Locals{{uint32(locals), "i32"}}, slices.Concat(code...)})
	return g
}

func signature(list []abi.Signature, name string) abi.Signature {
	i := slices.IndexFunc(list, func(s abi.Signature) bool { return s.Name == name })
	if i < 0 {
		panic("the ABI has no function " + name)
	}
	return list[i]
}

// Call is the code of a call of a host function, which becomes an import.
func (g *Guest) Call(name string) []byte { return g.CallOf(signature(abi.Imports, name)) }

// CallOf is Call for a function that the ABI does not have; the name is "module.name".
func (g *Guest) CallOf(s abi.Signature) []byte {
	i := slices.IndexFunc(g.Imports, func(have abi.Signature) bool { return have.Name == s.Name })
	if i < 0 {
		g.Imports = append(g.Imports, s)
		i = len(g.Imports) - 1
	}
	return append([]byte{0x10}, unsigned(uint64(i))...)
}

// Bind is code that binds a buffer and drops the answer.
func (g *Guest) Bind(kind, ptr, size int) []byte {
	return slices.Concat(I32(kind), I32(ptr), I32(size), g.Call(abi.ImportBind), Drop)
}

// Wasm is the module.
func (g *Guest) Wasm() []byte {
	m := Module{Funcs: g.Funcs, Memory: append([]byte{0}, unsigned(uint64(g.Pages))...), Globals: g.Globals, Data: g.Data, Omit: g.Omit}
	for _, s := range g.Imports {
		switch {
		case strings.Contains(s.Name, "."):
		case s.Added:
			s.Name = abi.Optional + "." + s.Name
		default:
			s.Name = abi.Module + "." + s.Name
		}
		m.Imports = append(m.Imports, s)
	}
	if g.Table > 0 {
		m.Table = append([]byte{0x70, 0}, unsigned(uint64(g.Table))...)
	}
	if i := slices.IndexFunc(g.Funcs, func(f Func) bool { return f.Name == g.Start }); g.Start != "" && i >= 0 {
		m.Start = len(g.Imports) + i + 1
	}
	return m.Encode()
}

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
	GrowTable   = []byte{0xfc, 15, 0} // by the number on the stack; new elements are the reference below it
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
