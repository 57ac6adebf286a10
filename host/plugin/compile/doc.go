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
package compile
