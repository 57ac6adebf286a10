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
// Rewrite (rewrite.go) goes through a module section by section, and writes
// the charges into its functions (charge.go). A Meter (meter.go) hands fuel
// to an instance of the rewritten module, and takes from it what host
// functions cost. A host fills it before each call: see guest/call.go.
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
