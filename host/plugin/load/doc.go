// SPDX-License-Identifier: MIT

// Package load turns a module's bytes into a plugin.
//
// A Loader belongs to one model. It has the module checked, metered and compiled (package compile), gives it the host functions
// (package guest), asks it for its manifest, compiles the schema of its configuration, and warms an instance that all others
// begin as a copy of. The result is a Plugin, which package stage puts to work in requests.
package load
