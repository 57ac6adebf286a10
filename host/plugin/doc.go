// SPDX-License-Identifier: MIT

// Package plugin runs WebAssembly plugins of ABI v1 (docs/abi/v1.md) on wazero.
//
// A Runtime belongs to one model. It loads modules: checks them before anything runs, meters their code (package fuel),
// compiles it, asks for the manifest, and keeps an image of an initialised and warmed instance. A Stage is a module at
// work in one request: it implements the scheduler's stage interfaces on an instance that begins as a copy of that image
// and is never used by another request. A Registry keeps the modules of a folder.
//
// The way of a call:
//
//	Stage.Apply      puts candidates into the guest's bound buffer
//	instance.call    fills fuel, calls the export on a reused stack
//	guest            may call host functions, which find their instance through the call's context
//	Stage            checks every number that comes back, before any of it is used
//
// Whatever a guest does ends in a Fault, a Refusal or a valid answer. Memory views are little-endian, as all platforms
// are that wazero compiles for.
package plugin
