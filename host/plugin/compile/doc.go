// SPDX-License-Identifier: MIT

// Package compile turns a module's bytes into metered machine code: in a child process where the module is large, and out of a
// cache if it was compiled before.
//
//	Check     refuses what is no plugin of this version, by its first bytes and its exports
//	Compiler  Compile: cache, or child, or this process
//	Main      what the child runs; a program's main begins with it
//	Code      the result: wazero's compiled module and what package fuel says of it
//
// Metering is package fuel's doing. Compiling is wazero's, which interprets instead if it has no compiler.
//
// # Why does each module have its own wazero runtime?
//
// wazero keeps some data of a module besides its code (the numbers of its types) until the whole
// runtime is closed, so uploads would fill the memory for ever. A runtime takes 1.4 ms to set up.
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
// Before wazero takes compiled code from its cache, it decodes the module and validates each
// function. That was half of the time to load 2 MB, although the child had validated the same
// functions already. So an entry has a skeleton: the metered module, in which every function only
// traps. It stores the compiled code of the real module where wazero looks for the skeleton's.
//
// If wazero compiled the skeleton itself, every call would trap. So where wazero asks for code,
// it gets the entry's or an error, and never the answer that there is none: as after an update of
// wazero or on another processor. Then the entry is made anew.
//
// # Why does the server reach into a private field of wazero?
//
// wazero can keep code in a folder only. It reads a file there in pieces of 8 bytes, one for each
// function and two for each instruction whose line in the source is known, and tells neither
// whether it took the code nor under which key it looked. What it reads from is an interface in
// its cache, which has no exported setter (host/plugin/compile/store.go). With a store of its own
// the server reads one file for each module, once, has the kernel give the pages for the code all
// at once, and knows what wazero took. TestWithStore_WazeroAsksTheStore fails where a version of
// wazero has another field; modules are then compiled at each start, and nothing else is lost.
//
// Sometimes wazero interprets: it has no compiler for the processor, or memory cannot be made
// executable, as under systemd's MemoryDenyWriteExecute. It then does not look for code, which
// shows beforehand because it keeps none of an empty module. There every module is loaded without
// a child and without the cache.
//
// # Why do a cache entry and a compile job name the program that made them?
//
// The child is this program started again from its path. If the file was replaced while the
// server runs, the child is the new version, and its output would be stored under the old
// version's name, after a rollback without the checks that a newer rewriter adds. So the child
// does nothing if it is another version; the server then compiles by itself and says so. An entry
// of another version is made anew.
//
// # Why does the code cache have its own checksums?
//
// wazero checks the machine code in an entry, but not the table of where functions begin. A
// plugin whose entry is cut short would fail to load instead of being compiled. So an entry has a
// checksum for each 64 KiB, and wazero gets nothing of a piece before its sum was compared, while
// it is still in the processor's cache. This is no signature: whoever may write to the folder
// could write the checksum too. That is why it is xxHash and not SHA-256. The folder must
// therefore belong to the user alone, in a place where nobody else can replace it. Otherwise
// Penstock says so and compiles at each start.
//
// # Why is a plugin not described from the cache, without running it?
//
// Describing takes a twentieth of a millisecond, a fiftieth of loading a module whose code is
// cached. A stored manifest would save no more, and would have to be forgotten whenever a host
// has other features.
package compile
