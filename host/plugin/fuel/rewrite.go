// SPDX-License-Identifier: MIT

// Package fuel rewrites WebAssembly modules so that a guest's work and call
// stack are bounded, by code within the module and the same on every machine.
//
// # Why rewriting
//
// wazero can interrupt a guest by its context, but that makes hot loops 3 to
// 17 times slower and stops a deep recursion a second late. A counter that the
// guest itself decrements costs little and stops it at the instruction.
//
// Rewrite goes through a module section by section, and writes
// the charges into its functions (charge.go). A Meter (meter.go) hands fuel
// to an instance of the rewritten module, and takes from it what host
// functions cost. A host fills it before each call: see guest/instance.go.
//
// # What is paid
//
// A unit of fuel is about one instruction. Straight code is cut into segments. Each segment is
// paid as a whole at its beginning: at the function's entry, at a loop's header, before a bulk
// operation, and wherever paths that paid for different segments join. A segment also ends at a
// join, an else or a call once it is longer than longSegment, so that one path does not pay for
// all others, and wherever it would exceed longestSegment. What follows a call was therefore paid
// before the call or is paid right after it. On every path, every instruction has been paid for
// since the last loop header.
//
//	every instruction            1 (block, else, end: 0)
//	ref.func                    64 (leaves compiled code)
//	memory.grow, table.grow    256 and 65,536/16 a page, 8/16 an element
//	memory.copy, fill, init     16 and 1/16 a byte
//	table.copy, fill, init      16 and 8/16 an element
//
// Sizes are charged as the guest gave them, before the operation is tried.
// The counter has 64 bits and no charge exceeds 2^45, so nothing wraps: a size
// of −1 is 4 GiB of work and exhausts any limit.
//
// # Slices
//
// Guest code cannot be preempted: Go's garbage collector waits for it, and so
// does a goroutine that needs its processor. So the counter holds a slice of
// the fuel only, and when it is negative the guest calls an import for the
// next (see Meter). That is where a host lets others run, looks at a clock and
// may end the call. The counter is looked at where a function begins, at loop
// headers and before bulk operations, and between them after checkEvery bytes
// of code; other charges do without the branch, so that the counter may become
// negative for a moment. Bulk operations on much memory run in pieces.
//
// wazero keeps no registers across a call, so a call in the middle of a hot
// loop makes it up to three times slower, even one that hardly ever happens.
// So guest code never continues straight after a refill: a loop's header jumps
// out to a second loop around it, and a function's entry calls the function
// anew.
//
// # The call stack
//
// wazero keeps the guest's stack on the Go heap. A second counter holds the
// bytes that are left of it. A function takes its frame at entry (see
// function.declare for the estimate) and gives it back where it returns, which
// is in one place.
// Functions that call nothing and have a small frame take nothing.
//
// # Counters
//
// Both counters are mutable i64 globals after the module's own. Within a function fuel lives in a
// local, which is a register; it is stored before calls and on return. Meter.Err tells which of
// them ended a call. Any index that the original does not define is refused, also in code that
// never runs, so a guest cannot name the counters, the locals, the blocks or the types that are
// added.
//
// # What else changes
//
// Functions move up by one, since an import comes before them.
//
// The start function becomes the export StartExport, so that instantiating
// runs no guest code. Table maxima are written into the module; what its memory
// may become is for the host to keep (Module.MemoryPages).
// Custom sections other than function names are dropped (see places.go). Mutable numeric
// globals are exported, for snapshots of an instance. Imports other than
// functions are refused.
//
// # Compiling
//
// wazero's compiler needs time that grows with the square of a function's
// branches and joined values, and cannot be stopped within a function. Limits
// on that product (see shape) refuse modules that would occupy it for long.
//
// # Why is the rewriter's version the checksum of its source?
//
// A cache entry is named by the module, the limits and the rewriter's version, since code from an
// older rewriter may lack checks that a newer one adds. A version number can be forgotten, and a
// test that compares the rewriter's output covers only what its modules contain. So the source,
// about 100 KB, is embedded in the program. After each change of it large modules are compiled
// anew once.
//
// # How does a trap name a line?
//
// Metering moves every instruction, so the line numbers that a debug build carries are wrong
// afterwards. For a module with line numbers the rewriter notes where it copied code from and to,
// and a fault names offsets in the module as it was built. The author's commands look these up in
// the module that they have built, with debug/dwarf (host/author/lines). Nothing else reads what
// a module says of its lines, so no hostile one can make that cost much.
package fuel

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/penstock/penstock/plugins/abi"
)

// Names of what Rewrite appends. The prefix is refused in a module's own
// exports.
const (
	private      = "penstock:"
	FuelExport   = private + "fuel"
	StackExport  = private + "stack"
	StartExport  = private + "start"
	globalPrefix = private + "global:"
)

// Module is a metered module and what a host must know of it.
type Module struct {
	Wasm []byte // the rewritten module

	// Start reports that the original had a start function. Instantiating
	// the rewritten module runs no guest code; the host calls StartExport
	// under a limit, before anything else.
	Start bool

	// Globals are the exported names of all mutable numeric globals, which
	// together with memory are what a snapshot of an instance consists of.
	Globals []string

	// MemoryPages is how many pages of 64 KiB its memory may have. The rewritten module does not say
	// so: the memory that the host gives it keeps to it.
	MemoryPages uint32

	// Immovable says why no snapshot can be taken; empty = one can.
	Immovable string

	// Moves tell where code was before; none unless the module says which lines it is from.
	Moves Moves
}

// Rewrite validates what metering rests on and inserts it. The result behaves
// as the original as long as fuel and stack last, and must still be compiled,
// which validates the rest (types above all). Errors wrap ErrMalformed,
// ErrUnsupported or ErrLimit.
func Rewrite(wasm []byte, limits Limits) (*Module, error) {
	if len(wasm) > limits.ModuleBytes {
		return nil, fmt.Errorf("%d bytes, at most %d are allowed: %w", len(wasm), limits.ModuleBytes, ErrLimit)
	}
	l, err := splitSections(wasm)
	if err != nil {
		return nil, err
	}
	m := &module{limits: limits, start: -1, extraIndex: map[string]int{}, lined: l.lined, names: l.names}
	m.refillType = m.appendType(signature{params: []byte{typeI64}, results: []byte{typeI64}})
	var out [sections][]byte
	for _, step := range steps {
		r := l.body[step.id]
		if r == nil {
			r = &reader{}
			if step.always {
				r.data = []byte{0} // an absent section is an empty vector
			} else {
				continue
			}
		}
		body := step.rewrite(m, r)
		if err := r.done(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		out[step.id] = body
	}
	out[secType] = m.typeSection(l.body[secType])
	return m.assemble(out, m.functionNames()), nil
}

// steps read sections in an order in which each finds the counts it needs.
// The type section is written last, since code may append block types.
var steps = []struct {
	id      byte
	name    string
	always  bool // run for an absent section too
	rewrite func(*module, *reader) []byte
}{
	{secType, "type section", false, (*module).readTypes},
	{secImport, "import section", true, (*module).rewriteImports},
	{secMemory, "memory section", false, (*module).rewriteMemory},
	{secFunction, "function section", true, (*module).rewriteFunctions},
	{secTable, "table section", false, (*module).rewriteTables},
	{secGlobal, "global section", true, (*module).rewriteGlobals},
	{secStart, "start section", false, (*module).readStart},
	{secExport, "export section", true, (*module).rewriteExports},
	{secElement, "element section", false, (*module).rewriteElements},
	{secDataCount, "data count section", false, (*module).readDataCount},
	{secCode, "code section", true, (*module).rewriteCode},
	{secData, "data section", true, (*module).rewriteData},
}

// assemble writes the module; a start section is left out on purpose.
func (m *module) assemble(out [sections][]byte, names []byte) *Module {
	size := 8
	for _, b := range out {
		size += len(b) + 8
	}
	wasm := append(make([]byte, 0, size+len(names)+len(anyPlace)+8), "\x00asm\x01\x00\x00\x00"...)
	for _, id := range order {
		if id != secStart && len(out[id]) > 0 {
			wasm = appendSection(wasm, id, out[id])
		}
	}
	if names != nil {
		wasm = appendSection(wasm, secCustom, names)
	}
	if len(m.moves) > 0 {
		wasm = append(wasm, anyPlace...)
	}
	result := &Module{Wasm: wasm, Start: m.start >= 0, MemoryPages: m.memoryPages, Immovable: m.immovable, Moves: m.moves}
	for _, i := range m.mutable {
		result.Globals = append(result.Globals, globalName(i))
	}
	return result
}

func globalName(i uint32) string { return fmt.Sprintf("%s%d", globalPrefix, i) }

// Limits bound what Rewrite accepts. They keep the time and memory of
// rewriting and compiling in proportion to the module's size.
type Limits struct {
	ModuleBytes   int // the module as given
	BodyBytes     int // one function's body, local declarations included
	Types         int // function types
	Imports       int
	Functions     int // imported ones included
	Exports       int
	Symbol        int    // bytes of the name of an import or export
	Segments      int    // of data, and of elements
	Locals        int    // of one function, parameters included
	AllLocals     int    // of all functions
	Arity         int    // parameters of a function type, and results
	Nesting       int    // blocks inside one another
	Globals       int    // defined globals
	Tables        int    // defined tables
	TableElements uint32 // all tables together, written into the module; and all segments together
	MemoryPages   uint32 // of 64 KiB; see Module.MemoryPages
	FunctionWork  int64  // of compiling one function, see shape
	Work          int64  // of compiling all of them
}

// DefaultLimits returns the limits of ABI v1, and for what it does not name
// bounds that no known toolchain comes near.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:   abi.LimitModuleBytes,
		BodyBytes:     abi.LimitBodyBytes,
		Types:         abi.LimitTypes,
		Imports:       abi.LimitImports,
		Functions:     abi.LimitFunctions,
		Exports:       abi.LimitExports,
		Symbol:        abi.LimitSymbolBytes,
		Segments:      abi.LimitSegments,
		Locals:        abi.LimitLocals,
		AllLocals:     abi.LimitAllLocals,
		Arity:         abi.LimitArity,
		Nesting:       20_000,
		Globals:       abi.LimitGlobals,
		Tables:        64,
		TableElements: abi.LimitTableElements,
		MemoryPages:   abi.LimitMemoryPages,
		FunctionWork:  1 << 24,
		Work:          3 << 25,
	}
}

// Why Rewrite refuses a module. Each error wraps one of these and names the
// place.
var (
	ErrMalformed   = errors.New("malformed module")
	ErrUnsupported = errors.New("feature outside WebAssembly 2.0 with SIMD, or one that plugins may not use")
	ErrLimit       = errors.New("module exceeds a limit")
)

// Why a metered call trapped, as Meter.Err tells it.
var (
	ErrFuel  = errors.New("fuel exhausted")
	ErrStack = errors.New("guest call stack exhausted")
)

// source is this package as it was compiled.
//
//go:embed *.go
var source embed.FS

// Version names what Rewrite turns a module into: where it differs, a module that was rewritten
// before must be rewritten anew. It is the checksum of the package's source, so that no change of
// it can be forgotten.
var Version = sync.OnceValue(func() string { return versionOf(source) })

// versionOf sums up the source in a folder without its tests.
func versionOf(folder fs.FS) string {
	files, err := fs.Glob(folder, "*.go")
	h := sha256.New()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, e := fs.ReadFile(folder, name)
		if e != nil {
			err = e
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	if err != nil {
		panic(err) // it is in the program
	}
	return hex.EncodeToString(h.Sum(nil))
}
