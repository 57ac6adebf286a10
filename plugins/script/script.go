// SPDX-License-Identifier: MIT

// Package script is the plugin that runs JavaScript: QuickJS-NG with our glue as a guest of plugin
// ABI v1, and the declarations of what a script sees.
//
// A script is the plugin's configuration: {"source": …, "config": …}. guest/ has the glue, engine/
// the engine's version and our patch of it, and `make script` builds script.wasm.gz, which is in
// the tree so that nobody else needs a compiler for it.
//
// # Why QuickJS-NG, and why from a crate?
//
// It is the maintained QuickJS: an interpreter in C of 750 KB of WebAssembly, which knows the
// JavaScript of today. Crates of crates.io are fetched by cargo with a checksum that the lock file
// has, and rquickjs-sys ships the engine's C source. Engines in Go compile to 19 MB of WebAssembly.
//
// # Why is the engine patched?
//
// Under WASI it does not check its stack, since it cannot know the host's. Here the host's bound is
// known, and counts the size of code: the patch makes frames in memory as large in proportion, so
// that deep recursion is a RangeError and not a trap (engine.patch, STACK_COST). It asks more often
// whether time is over, also in built-in functions over long lists, notes the line of what is
// thrown where a script cannot overwrite it, bounds BigInts to 16,384 bits, since multiplying
// them cannot be stopped, and gives the glue the compiled form of a RegExp.
//
// # Why may a script use eval and Function?
//
// Whoever sends a script could as well have sent what it would evaluate: nothing more can be
// reached from there. What would show time or chance beside the host's is left out: WeakRef,
// FinalizationRegistry, Atomics, performance.
package script

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"sync"
)

//go:embed script.wasm.gz
var compressed []byte

// Module is the guest, WebAssembly, for nobody to change. It has functions that are too large for
// the limits on uploads. Whoever runs no scripts needs no memory for it.
var Module = sync.OnceValue(func() []byte {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // it is a part of this program
	}
	wasm, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return wasm
})

// Declarations are what a script sees, in TypeScript.
//
//go:embed penstock.d.ts
var Declarations string

// Name is the plugin's name.
const Name = "script"

// MaxSource is how long a script may be, in bytes.
const MaxSource = 64 << 10
