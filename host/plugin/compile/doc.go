// SPDX-License-Identifier: MIT

// Package compile turns a module's bytes into metered machine code: in a child process where the
// module is large, and out of a cache if it was compiled before.
//
//	Check     refuses what is no plugin of this version, by its first bytes and its exports
//	Compiler  Compile: cache, or child, or this process
//	Main      what the child runs; a program's main begins with it
//	Code      the result: wazero's compiled module and what package fuel says of it
//
// Metering is package fuel's doing. Compiling is wazero's, which interprets instead if it has no
// compiler.
//
// # Why does each module have its own wazero runtime?
//
// wazero keeps some data of a module besides its code (the numbers of its types) until the whole
// runtime is closed, so uploads would fill the memory forever. A runtime takes 1.4 ms to set up.
// It also gives each module its own folder in the code cache, so that an entry can be checked on
// its own.
//
// # What keeps a module from taking long to load?
//
// There are three limits:
//
//   - The ABI's table bounds the counts in a module. wazero has loops over functions times
//     exports, types times values, and functions times locals: a module of 320 KB with 40,000
//     functions that declare 50,000 locals each took minutes.
//   - The rewriter estimates how long each function takes to compile, since compiling cannot be
//     interrupted. What counts is what lives across basic blocks: wazero keeps lists of the
//     values on the operand stack and maps of the locals for each block, and joins all locals
//     that a loop uses. So the rewriter follows the height of the stack and where each local is
//     set and used (host/plugin/fuel/shape.go). 60,000 values before 1,000 branches are 173 KB,
//     and took a minute and 4.3 GB.
//   - A child process that compiles ends itself after 30 s of processor time or with 1 GiB of
//     memory, and the module is refused.
//
// All three are limits of work, so a busy machine refuses no module that an idle one takes. The
// clock is the last resort: an upload is answered after two minutes.
// TestRegistry_Upload_Bombs_CostLittle prints what remains.
//
// # Why does a child wait for the next module?
//
// Starting one takes as long as compiling a small module. Most of that is the set-up of the
// program's packages, so it can be done before the module is there. A child still compiles one
// module only: a module finds nothing of the one before it, and the memory is given back. The
// first one is started for the first module, so a server to which nobody uploads has none. The
// next waits for five minutes, at the niceness of one that compiles, in which somebody who works
// on a plugin comes back. It has about 19 MB in memory, of which 4 MB are its own; the rest are
// pages of the program that the server shares. It waits for its standard input, which ends when
// the server does. Of the server's environment a child has only what Go and the loader of shared
// libraries read, and so no keys.
//
// # Why does the server load a skeleton instead of the module?
//
// Code is kept in wazero's own directory cache. Before wazero takes code from it, wazero decodes
// the module and validates each function, although the child had validated the same functions
// already. So an entry has a skeleton: the metered module, in which every function only traps. The
// code of the real module lies in the file in which wazero looks for the skeleton's.
//
// Medians of 30 loads on 2 cores of an Intel Xeon that others kept busy, in ms, without the
// instance (BenchmarkOpen):
//
//	                               skeleton   whole module   metered at each load
//	min-p (TinyGo, 75 KB)               0.6            2.1                    3.6
//	best-of (Rust, 139 KB)              0.9            4.1                    6.7
//	regex-stop (TinyGo, 272 KB)         1.7            5.8                    9.4
//	min-p (stock Go, 2.1 MB)             20             50                     82
//
// Until November 2026 the server put a store of its own into a private field of wazero's cache,
// because wazero reads a file in pieces of 8 bytes. That saved nothing with small modules and 4 ms
// with stock Go (24 against 28 ms, with the instance), so it is gone.
//
// # What if wazero does not find the code?
//
// Then it compiles the skeleton, whose functions trap, and says nothing. There are two guards:
//
//   - The name of an entry has the path in it under which wazero keeps the code of an empty module:
//     its version and what the processor can do. Another machine, or another version, has other
//     entries in the same folder.
//   - wazero writes what it compiles into the entry's folder. If there is another file after
//     loading than before, the code is closed before anything runs, and the entry is made again.
//
// Sometimes wazero interprets: it has no compiler for the processor, or memory cannot be made
// executable, as under systemd's MemoryDenyWriteExecute. It then keeps no code of an empty module,
// so this shows beforehand. There every module is loaded without a child and without the cache.
//
// # Why do a cache entry and a compile job name the program that made them?
//
// The child is this program started again from its path. If the file was replaced while the
// server runs, the child is the new version, and its output would be stored under the old
// version's name, after a rollback without the checks that a newer rewriter adds. So the child
// does nothing if it is another version; the server then compiles by itself and says so. An entry
// of another version is made again.
//
// # Why does the code cache have its own checksums?
//
// wazero checks the machine code in an entry, but not the table of where functions begin. A plugin
// whose entry is cut short would fail to load instead of being compiled. So an entry has two
// checksums: of its head with the skeleton, and of the file that wazero reads. They are compared
// before wazero gets anything. They are no signature: anybody who can write to the folder could
// write the checksums too. That is why they are xxHash and not SHA-256. The folder must therefore
// belong to the user alone, in a place where nobody else can replace it. Otherwise Penstock reports
// it and compiles at each start.
//
// # Why is a plugin not described from the cache, without running it?
//
// Describing takes a twentieth of a millisecond, a fiftieth of loading a module whose code is
// cached. A stored manifest would save no more, and would have to be forgotten whenever a host
// has other features.
package compile
