// SPDX-License-Identifier: MIT

// Package guest runs instances of a plugin's module: their memory, the host functions and WASI
// that they may call, and one call with its fuel and its time.
//
//	Environment  what all guests of one model share: limits, memory budget, time slices, vocabulary
//	Module       a compiled module whose types are checked, with the image its instances begin as
//	Session      what the host functions tell a guest of the request it serves
//	Instance     one guest; Call runs one of its exports
//
// An instance serves one session and no other. A call is followed through these files:
//
//	call.go            fills the meter with the call's fuel, runs the export, and reads the meter afterwards
//	pause.go           what happens between two slices of a call's fuel: the deadline is checked, and others may run
//	timeslices.go      which guests compute when several want to
//	charge.go          what a host function's work costs
//	memory.go          how a host function reaches guest memory
//	hostfunction*.go   the ABI's imports; wasi*.go those of WASI
//	fault.go           why a call trapped
//
// # Why do plugins get time slices in open and in long calls?
//
// Two clients whose plugins compute in open would occupy both processors of a small machine, and
// the tick would have to ask for one again and again. So plugins never get more than half of what
// Go runs at once. Slices last 5 ms, so that a plugin that needs one millisecond gets it soon.
// After 100 ms a plugin is limited to a quarter of a processor, which is also the share of a
// request in sampling.
//
// A call of another kind needs slices from its fifth millisecond on. Two guests that missed the
// cache in sample all the time had taken memory bandwidth from the forward pass (gaps of 30 ms,
// now 17).
package guest
