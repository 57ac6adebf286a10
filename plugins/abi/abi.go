// SPDX-License-Identifier: MIT

// Package abi holds the names and numbers of plugin ABI v1 for the host:
// exports, imports and their signatures, buffer kinds, answers and limits.
//
// Everything here except the types below is generated from plugins/abi/table,
// as are the bindings of both SDKs and the reference in docs/abi/v1.md.
package abi

import "slices"

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

// Access is what the host does with the memory at an address.
type Access uint8

// Ways to use memory: the host reads it, writes it, reads and then writes it, or keeps it.
const (
	Read Access = iota + 1
	Write
	Update
	Keep
)

// List is what lies at an address. docs/abi/v1.md says how.
type List string

// Lists, by their entries.
const (
	ListBytes      List = "bytes"
	ListTokens     List = "tokens"
	ListHandles    List = "handles"
	ListNumbers    List = "numbers"
	ListPairs      List = "pairs"
	ListWords      List = "words"
	ListCandidates List = "candidates"
)

// Size is how many bytes n entries have.
func (l List) Size(n uint64) uint64 {
	switch l {
	case ListBytes:
		return n
	case ListPairs:
		return 8 * n
	case ListCandidates:
		return 8 + 8*n
	}
	return 4 * n
}

// Memory is a list in guest memory that an import takes.
type Memory struct {
	At, N  int // the parameters with its address, and with its length or the room for it
	List   List
	Access Access
	Null   bool   // the address 0 means that there is none
	Most   uint64 // entries; more are a fault. 0: as many as there is memory
}

// Cost is the fuel that a call of an import takes, besides that of every call and what the
// function charges itself.
type Cost struct {
	Fixed, Byte, Vocabulary, Each uint64 // for a call, a byte read, a token of the vocabulary, and what parameter Per counts
	Read, Wrote                   bool   // 1 for 16 bytes that are read, or written
	Per                           int    // the parameter that Each, or Vocabulary, is multiplied by; −1: none
}

// Record says what a recording has of an import's calls.
type Record uint8

// Calls are not recorded, or with what was written where it fitted, or with what was to be written.
const (
	NotRecorded Record = iota
	RecordFitting
	RecordWhole
)

// Has tells whether a list, Imports or Exports, has a function of a name.
func Has(list []Signature, name string) bool {
	return slices.ContainsFunc(list, func(s Signature) bool { return s.Name == name })
}

// Import is the import of a name; nil if there is none.
func Import(name string) *Signature {
	if at := slices.IndexFunc(Imports, func(s Signature) bool { return s.Name == name }); at >= 0 {
		return &Imports[at]
	}
	return nil
}
