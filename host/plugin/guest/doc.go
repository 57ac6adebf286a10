// SPDX-License-Identifier: MIT

// Package guest runs instances of a plugin's module: their memory, the host functions and WASI that they may call, and one call
// with its fuel and its time.
//
//	Host      what all guests of one model share: limits, memory budget, turns, vocabulary
//	Module    a compiled module whose types are checked, with the image its instances begin as
//	Session   what the host functions tell a guest of the request it serves
//	Instance  one guest; Call runs one of its exports
//
// An instance serves one session and no other. A call is followed through these files:
//
//	call.go            fills the meter with the call's fuel, runs the export, and reads the meter afterwards
//	pause.go           what happens between two slices of a call's fuel: the deadline is checked, and others may run
//	turns.go           which guests compute when several want to
//	charge.go          what a host function's work costs
//	memory.go          how a host function reaches guest memory
//	hostfunction*.go   the ABI's imports; wasi*.go those of WASI
//	fault.go           why a call trapped
package guest
