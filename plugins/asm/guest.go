// SPDX-License-Identifier: MIT

// Package asm assembles plugins instruction by instruction, for tests and for the conformance kit.
// A test then shows what its guest does, and needs no toolchain.
package asm

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

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

// Function adds any function, with so many locals of type i32 besides its parameters.
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
