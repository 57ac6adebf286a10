// SPDX-License-Identifier: MIT

// Package tck is the conformance kit of plugin ABI v1 (docs/abi/v1.md): guests that exercise its
// rules, and guests that break them, each with what a host must do.
//
// A guest that exercises a rule checks the host from within: it traps where the host does
// something else, and its last log line says what it found. The host under test only has to load
// plugins and to answer requests, so any build of Penstock can be tested over HTTP:
//
//	go run ./plugins/tck/cmd/tck -url http://127.0.0.1:8080 -admin-key KEY
//	go run ./plugins/tck/cmd/tck -write DIR
//
// The second command writes the modules, and cases.json with the requests and the expected
// outcomes, for hosts in other languages. Package check tests plugins instead of hosts.
package tck
