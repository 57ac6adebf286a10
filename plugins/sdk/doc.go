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
// Two places could contradict each other. The host fills in the defaults, and so do both SDKs' test
// drivers, for properties. On a host without config_defaults the Rust SDK does it, in modules whose
// schema has any. The Go SDK refuses the request there: filling them in would add 10 KB to a module
// of 69 KB.
//
// # Why do both SDKs have a stub of the host, and no more?
//
// An author's `go test` and `cargo test` run the plugin's code natively, in a second and with a
// debugger, without a WebAssembly toolchain and without Penstock. This needs something that answers
// the host functions, so each SDK has a stub, for a plugin's own methods. It has no model, no
// branches and no grammars: two more implementations of these, in two languages, would be right
// only as long as somebody compares them with the host. A plugin is tried with a model on its
// module, by the driver that `penstock plugin test`, `check` and `bench` share, in any language.
//
// Where the stubs could differ from the host, tests compare them: the Go stub makes the calls of
// plugins/abi/testdata/hostcalls.json, which the host must answer in the same way. Random numbers
// come from one definition in the ABI's table, and draws.json beside that file has draws that both
// SDKs must make. A call that the stub has no answer for ends the test: the generated Absent does
// that, so a new import needs nothing here.
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
