// SPDX-License-Identifier: MIT

// Package tck is the conformance kit of plugin ABI v1 (docs/abi/v1.md): guests that exercise its rules, and guests that
// break them, each with what a host must do.
//
// A guest that exercises a rule checks it itself, from within: where the host does something else it traps, and its last
// log line says what it found. So a host needs nothing but the means to load a plugin and to answer a request with it, and
// any build of Penstock can be tested over HTTP:
//
//	go run ./plugins/tck/cmd/tck -url http://127.0.0.1:8080 -admin-key KEY
//	go run ./plugins/tck/cmd/tck -write DIR
//
// The second writes the modules, and cases.json with what is to be asked and expected, for hosts in other languages.
// Package check looks at the other side: it tries a plugin of anybody's.
package tck
