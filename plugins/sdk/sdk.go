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
// # Why does a module export all calls, and list those that the plugin implements?
//
// A WebAssembly export is a function that the code has, whatever it does. If exports were the
// list, something had to write those that a plugin needs: a generated file that an author meets in
// each build. So the SDKs export everything, and the manifest says what the host is to call. Of
// what nothing implements the compilers of TinyGo and Rust leave an empty function.
//
// In Go, the methods of the type say what the plugin implements, by assertions on interfaces. A
// method with other parameters is none of them. Reflection finds it, but TinyGo's knows no methods,
// and in a module of Go's own compiler it would keep 1.3 MB of code. So tests find all such
// methods, a module finds the likeliest ones when it is loaded, and the compiler finds those that
// the author asserts. In Rust a trait cannot tell which of its default methods an impl replaces,
// but an attribute sees the text of the impl. It looks for `fn` and a name, and leaves the rest to
// the compiler.
//
// # Why do config members with a default in the schema need no fallback in the code?
//
// Two places could contradict each other. The host fills in the defaults, and so do both SDKs'
// stubs. On a host without config_defaults the Rust SDK does it, in modules whose schema has any.
// The Go SDK refuses the request there: filling them in would add 10 KB to a module of 69 KB.
//
// # Why is there a stub of the host in both SDKs?
//
// An author's `go test` and `cargo test` run the plugin's own methods natively, in a second and
// with a debugger, without a WebAssembly toolchain and without Penstock. This needs something that
// answers what they ask: the config, the vocabulary, the history, random numbers. A stub does no
// more than that. Branches, rows and grammars would have to be written again in each language, and
// would differ from the host's where it counts. So whoever tests what comes of a model's logits
// runs the built module in the player, on the model of a golden case, and the stubs say so. An
// import that a stub has no answer for ends the test, so a new one needs nothing there.
//
// The random numbers come from one definition in the ABI's table. plugins/abi/testdata has draws
// that both SDKs must make in the same way, and calls that the Go stub must answer as the host
// does. Nothing compares the Rust stub with the host: its tests in plugins/sdk/rust/tests say what
// it answers. host/plugin/examples plays the examples' cases on the modules that TinyGo and Rust
// build. `penstock plugin check` tries an author's built plugin under the real runtime, with its
// fuel and its limits.
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

import (
	"embed"
	"io/fs"
)

//go:embed rust/Cargo.toml rust/src rust/export
var sources embed.FS

// Rust is the folder of the crate penstock with the crate of its macros: the files that cargo
// needs, without their tests.
func Rust() fs.FS {
	crate, err := fs.Sub(sources, "rust")
	if err != nil {
		panic(err) // the name above is a valid one
	}
	return crate
}
