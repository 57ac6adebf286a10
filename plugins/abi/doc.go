// SPDX-License-Identifier: MIT

// Package abi holds the names and numbers of plugin ABI v1 for the host:
// exports, imports and their signatures, buffer kinds, answers and limits.
//
// Everything here except the types below is generated from plugins/abi/table,
// as are the bindings of both SDKs and the reference in docs/abi/v1.md.
package abi

//go:generate go run ./gen -root ../..

// Type is a WebAssembly value type, by its name in the text format.
type Type = string

// Signature is one export or import, as the table describes it.
type Signature struct {
	Name     string
	Params   []Type
	Results  []Type
	Optional bool // an export that a plugin may leave out although it has others
	Added    bool // an import that was not in v1 at first; plugins import it from the module Optional

	// Of imports.
	Memory []Memory
	Cost   Cost
	In     []string // the exports in which it may be called; nil: all
	Fills  int32    // the kind of the bound buffer that it fills; 0: none
	Long   bool     // its fuel says little of its time
	Waits  bool     // it may wait for other work of the host
	Record Record
}

// Part is which part of an answer a text belongs to: PartContent and its neighbours.
type Part int32
