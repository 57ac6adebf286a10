// SPDX-License-Identifier: MIT

// Package table describes plugin ABI v1, once for the host, the SDKs and the documentation.
//
// The generator in plugins/abi/gen turns it into the host's constants, the bindings of both
// SDKs and docs/abi/v1.md, so that none of them can drift from another.
//
// Names are kept in snake_case here, as they stand on the wire; each target
// language derives its own spelling.
package table

// Module is the name that every import of the ABI is under.
const Module = "penstock"

// Optional is the module name of imports that a host need not have: one that
// is not there traps when it is called, not when the plugin is loaded.
const Optional = "penstock-optional"

// Version is the ABI version; it is the suffix of the version export.
const Version = 1

// Type is a WebAssembly value type.
type Type string

// The value types that cross the boundary.
const (
	I32 Type = "i32"
	I64 Type = "i64"
	F32 Type = "f32"
)

// Func is one export or one import.
type Func struct {
	Name     string
	Params   []Value
	Result   Type   // empty where the function returns nothing
	Optional bool   // for exports: a plugin may leave it out although it has others of its kind
	Added    bool   // not in v1 at first: plugins import it from Optional and ask feature, or name the export in the manifest's optional
	When     string // for exports: when the host calls it, in a few words
	Doc      string // semantics, in Markdown
	Fuel     string // for exports: which limit holds
	Worked   string // an example with numbers, in Markdown; may be empty

	// The rest is about imports.
	Cost   Cost
	In     []string // the exports in which it may be called, elsewhere a fault; empty: in all
	Fills  string   // the bound buffer that it writes to, by its name; empty: none
	Long   bool     // its fuel says little of its time: others may run before it
	Waits  bool     // it may wait for other work of the host, which is not the plugin's time
	Record Record   // what a recording has of a call
}

// Constant is one named number.
type Constant struct {
	Name  string
	Value int64
	Doc   string
}

// Group is a set of constants that belong to one parameter or result.
type Group struct {
	Prefix    string // first word of every name
	Title     string // heading in the reference
	Doc       string
	Constants []Constant
}

// Field is an array inside a buffer, without padding after the one before.
type Field struct {
	Name  string
	Type  string // u8, u32 or f32
	Count string // elements: 1, cap, n_vocab, or words (a bit for each token, in u32)
}

// Buffer is a region of guest memory that the guest binds once.
type Buffer struct {
	Name   string
	Kind   int64
	Fields []Field
	Doc    string
	Worked map[string]int64 // values of cap and n_vocab for the worked example
}

// Limit is a bound that the host enforces, with its default.
type Limit struct {
	Name  string
	Value int64
	Unit  string
	Doc   string // what happens beyond it
}

// Feature is something that a host of v1 may lack although it is neither an import nor an export.
// The import feature knows it by its name.
type Feature struct {
	Name string
	Doc  string
}

// Table is the whole ABI.
type Table struct {
	Exports  []Func
	Imports  []Func
	Buffers  []Buffer
	Groups   []Group
	Limits   []Limit
	Features []Feature
	Rules    []Section
}

// Section is a piece of prose for the reference.
type Section struct {
	Title string
	Text  string
}

// V1 returns the table of ABI version 1.
func V1() Table {
	return Table{
		Exports:  exports(),
		Imports:  imports(),
		Buffers:  buffers(),
		Groups:   groups(),
		Limits:   limits(),
		Features: features(),
		Rules:    rules(),
	}
}
