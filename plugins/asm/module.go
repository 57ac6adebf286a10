// SPDX-License-Identifier: MIT

package asm

import (
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

// Locals are so many locals of a type.
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
