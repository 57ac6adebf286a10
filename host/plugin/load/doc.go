// SPDX-License-Identifier: MIT

// Package load turns a module's bytes into a plugin.
//
// A Loader has the module checked, metered and compiled (package compile), gives it the host functions
// (package guest), asks it for its manifest and compiles the schema of its configuration. That is done
// once, whatever the number of models. For each Model an instance is warmed that all others of this model
// begin as a copy of. The result is a Plugin, which package stage puts to work in requests.
package load
