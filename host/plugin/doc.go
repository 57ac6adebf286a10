// SPDX-License-Identifier: MIT

// Package plugin defines what the packages of the plugin host share: what a plugin may use, what
// the host offers it, and how a plugin fails.
//
// A plugin is a WebAssembly module of ABI v1 (docs/abi/v1.md), run by wazero. Each of these
// packages imports only those above it:
//
//	plugin/fuel        rewrites a module so that it counts its fuel and its stack itself
//	plugin/memory      linear memory that never moves and can begin as a copy of another
//	plugin             limits, errors, causes of faults, what plugins see of a request
//	plugin/compile     bytes → metered machine code, in a child process, kept in a cache
//	plugin/guest       one instance at work: host functions, WASI, a call with its fuel and its time
//	plugin/quarantine  which clients wait after repeated faults
//	plugin/load        compiled code → a plugin with manifest and configuration schema, and an image warmed for each model
//	plugin/stage       a plugin as a stage of a sampler chain, a stop rule or a template
//	plugin/session     what a plugin was asked and answered, recorded and replayed
//	plugin/registry    the plugins of a folder; uploads
//
// The way of a call:
//
//	stage.Stage.Apply    puts candidates into the guest's bound buffer
//	guest.Instance.Call  fills fuel, calls the export on a reused stack
//	the guest            may call host functions, which find their instance through the call's context
//	stage.Stage          checks every number that comes back, before any of it is used
//
// Where is fuel charged? Package fuel rewrites a guest's code so that it charges for its own work
// (fuel/charge.go), and has the Meter that refills the guest's counter (fuel/meter.go).
// guest/call.go fills the meter before each call and reads it after. guest/charge.go charges for
// the work of host functions.
//
// What happens when fuel runs out? The refill of the meter, or a host function's charge, panics,
// which ends the call as a trap. diagnose (guest/fault.go) turns that into CauseFuel, and
// Instance.Fail (guest/call.go) into a Fault: the instance runs nothing any more, and the fault
// counts towards quarantine. Stage.endOnFault (stage/stage.go) then ends the request, or with
// on_error=skip lets it go on without the plugin. Every other fault goes the same way from
// Instance.Fail on.
//
// Whatever a guest does ends in a Fault, a Refusal or a valid answer. Memory views are
// little-endian, as all platforms are that wazero compiles for.
package plugin
