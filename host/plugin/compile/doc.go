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
// # Why is a module metered each time it is loaded?
//
// Code is kept in wazero's own directory cache. Before wazero takes code from it, wazero decodes
// the module and validates each function. So an entry could hold the metered module, or only a
// skeleton of it, whose functions trap, with the code in the file where wazero looks for the
// skeleton's. Until November 2026 it was a skeleton, with guards against ever running it. Medians
// of 30 loads on 2 cores of an Intel Xeon that others kept busy, in ms, without the instance, and
// the heap that stays in use (BenchmarkOpen has the last column):
//
//	                               skeleton         metered module   metered at each load
//	min-p (TinyGo, 75 KB)          0.6 ms,  67 KB           2.1 ms         3.6 ms, 145 KB
//	best-of (Rust, 139 KB)         0.9 ms,  94 KB           4.1 ms         6.7 ms, 279 KB
//	regex-stop (TinyGo, 272 KB)    1.7 ms                   5.8 ms         9.4 ms
//	min-p (stock Go, 2.1 MB)        20 ms, 2.3 MB            50 ms          82 ms, 4.3 MB
//
// A plugin is loaded when the server starts or its file changes, and never for a request. That is
// not worth a format of our own. The worst module of 16 MB takes 0.8 s.
//
// For the same reason no child waits for the next module: starting one takes 10 ms.
//
// # What if wazero does not find the code?
//
// Then it compiles the module in the server. It should not come to that: the name of an entry has
// the path in it under which wazero keeps the code of an empty module, with its version and what
// the processor can do. So another machine, or another version, has other entries in the same
// folder.
//
// Sometimes wazero interprets: it has no compiler for the processor, or memory cannot be made
// executable, as under systemd's MemoryDenyWriteExecute. It then keeps no code of an empty module,
// so this shows beforehand. There every module is loaded without a child and without the cache.
//
// # Why does a compile job name the program that gave it?
//
// The child is this program started again from its path. If the file was replaced while the
// server runs, the child is the new version, and its output would be stored under the old
// version's name, after a rollback without the checks that a newer rewriter adds. So the child
// does nothing if it is another version; the server then compiles by itself and says so.
//
// # Why does the code cache have its own checksums?
//
// wazero checks the machine code in an entry, but not the table of where functions begin. A plugin
// whose entry is cut short would fail to load instead of being compiled. So an entry has a checksum
// of the file that wazero reads. It is compared before wazero gets anything. It is no signature:
// anybody who can write to the folder could write the checksum too. That is why it is xxHash and
// not SHA-256. The folder must therefore belong to the user alone, in a place where nobody else can
// replace it. Otherwise Penstock reports it and compiles at each start.
//
// # Why is a plugin not described from the cache, without running it?
//
// Describing takes a twentieth of a millisecond, much less than loading a module whose code is
// cached. A stored manifest would save no more, and would have to be forgotten whenever a host
// has other features.
package compile
