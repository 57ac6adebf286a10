// SPDX-License-Identifier: MIT

// Package sdk holds the sources of the Rust SDK, so that the binary can put them beside a new
// plugin without a network.
//
// # Why does the SDK for Go bring a collector for TinyGo?
//
// TinyGo's looks at each 16 bytes of the heap at each collection, several times. A table of 2 MiB
// took 33 million units of fuel, and a hook has 20 million. More fuel for all would let any
// plugin hold its answer up for longer, and fuel that pays collection apart would need the host
// to know which code collects. A heap of 4 KiB pages, each with objects of one size and a bit for
// each, takes 0.6 million; what TinyGo knows to have no pointers is not looked at. TinyGo has an
// interface for this (gc.custom) that it calls unstable: where it changes, the scaffold's target
// can name precise again.
//
// # Why does an attribute write the exports of a Rust plugin?
//
// The host calls what a module exports, so an export for a method that the author did not write
// costs a call for each token, and a method without its export does nothing. A trait cannot tell
// which of its default methods an impl replaces; the attribute sees the text of the impl. It
// needs no crates: it looks for `fn` and a name, and leaves all else to the compiler, whose
// errors then stand at the author's own line. A method without an export, or an export without a
// method, cannot be written.
//
// # Why is a generated file in a Go plugin?
//
// For the same reason, with what Go has: each export is a package of the SDK, and
// penstock_exports.go imports those that the plugin's type has methods for. Its assertions make a
// method with other parameters a compiler error. `penstock plugin exports` reads the source and
// needs no compiler, so it works offline. Only for a type that the plugin embeds from another
// package does it ask Go, for the folder of that package. Where the file is not up to date the
// module says so in penstock_describe, and is not loaded: nothing runs that the author would wait
// for in vain.
//
// # Why does a member of the config that the schema has a default for need no fallback in the code?
//
// Two places could say different things. The host fills the defaults in, and both SDKs' test
// drivers do it too. On a host that does not (config_defaults) the Rust SDK does, in modules
// whose schema has any. The Go SDK refuses the request there: filling them in would add 10 KB to
// a module of 69.
//
// # Why do both SDKs have a stand-in for the host?
//
// An author's `go test` and `cargo test` run the plugin's code natively, in a second and with a
// debugger, without a WebAssembly toolchain and without Penstock. For that something must answer
// the host functions, so each SDK has one stand-in, and nothing else runs plugins beside the
// host. What could differ is tested: plugins/abi/testdata/hostcalls.json has calls of host
// functions that the host and both stand-ins must answer alike, the random numbers come from one
// definition in the ABI's table, plugins/abi/testdata/draws.json has draws that both SDKs must
// make alike, and host/plugin/examples repeats each session of the examples' tests under the
// host, with the modules that TinyGo, stock Go and Rust build. `penstock plugin check` tries an
// author's built plugin under the real runtime, with its fuel and its limits.
//
// # Why is TinyGo told to make no debug information?
//
// `-no-debug` alone has it make that, carry it through every step of the optimizer, and drop it
// at the end. Without it a build takes a third less time, and the code is the same to the byte,
// so what `plugin dev` tries is what `plugin build` makes. The flag, `-internal-nodwarf`, is
// TinyGo's own business: where TinyGo does not know it, or an error needs debug information to
// name its line, the plugin is built once more without it. A lower `-opt` would save a tenth more
// at most, and what is tried would be another module, with other fuel, than what is shipped.
package sdk
