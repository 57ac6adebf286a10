// SPDX-License-Identifier: MIT

// Package sdk embeds the sources of the Rust SDK, so that the binary can write them beside a new
// plugin without a network.
//
// # Why does the Go SDK have its own garbage collector for TinyGo?
//
// TinyGo's collector scans each 16 bytes of the heap several times at each collection. With a table
// of 2 MiB this took 33 million units of fuel, and a hook has 20 million. More fuel for all would
// let any plugin delay its answer for longer, and separate fuel for collection would require the
// host to know which code collects. A heap of 4 KiB pages, each with objects of one size and a bit
// for each, takes 0.6 million; objects that TinyGo knows to have no pointers are not scanned.
// TinyGo calls its interface for this (gc.custom) unstable: if it changes, the scaffold's target
// can name the precise collector again.
//
// # Why does an attribute write the exports of a Rust plugin?
//
// The host calls what a module exports, so an export for a method that the author did not write
// costs a call for each token, and a method without its export does nothing. A trait cannot tell
// which of its default methods an impl replaces, but the attribute sees the text of the impl. It
// needs no crates: it looks for `fn` and a name, and leaves the rest to the compiler, whose errors
// are then reported at the author's own line. A method without an export, or an export without a
// method, cannot be written.
//
// # Why does a Go plugin have a generated file?
//
// For the same reason, with the means of Go: each export is a package of the SDK, and
// penstock_exports.go imports the packages for the methods that the plugin's type has. Its
// assertions turn a method with other parameters into a compiler error. `penstock plugin exports`
// reads the source and needs no compiler, so it works offline. Only for a type that the plugin
// embeds from another package does it ask Go for the folder of that package. If the file is not up
// to date, the module says so in penstock_describe and is not loaded, so no method is silently
// ignored.
//
// # Why do config members with a default in the schema need no fallback in the code?
//
// Two places could contradict each other. The host fills in the defaults, and so do both SDKs' test
// drivers. On a host without config_defaults the Rust SDK does it, in modules whose schema has any.
// The Go SDK refuses the request there: filling them in would add 10 KB to a module of 69 KB.
//
// # Why do both SDKs have a stand-in for the host?
//
// An author's `go test` and `cargo test` run the plugin's code natively, in a second and with a
// debugger, without a WebAssembly toolchain and without Penstock. This needs something that answers
// the host functions, so each SDK has one stand-in, and nothing else runs plugins besides the host.
// Tests cover what could differ: plugins/abi/testdata/hostcalls.json has calls of host functions to
// which the host and both stand-ins must give the same answers. The random numbers come from one
// definition in the ABI's table. plugins/abi/testdata/draws.json has draws that both SDKs must make
// in the same way. host/plugin/examples repeats each session of the examples' tests under the host,
// with the modules that TinyGo, stock Go and Rust build. `penstock plugin check` tries an author's
// built plugin under the real runtime, with its fuel and its limits.
//
// # Why does TinyGo build without debug information?
//
// With `-no-debug` alone, TinyGo generates debug information, carries it through every step of the
// optimizer, and drops it at the end. Without it a build takes a third less time, and the code is
// the same to the byte, so `plugin dev` tries the same module that `plugin build` makes. The flag,
// `-internal-nodwarf`, is internal to TinyGo: if TinyGo does not know it, or an error needs debug
// information to name its line, the plugin is built once more without it. A lower `-opt` would save
// at most another tenth of the time, and the module that is tried would differ from the one that is
// shipped, also in its fuel.
package sdk
