// SPDX-License-Identifier: MIT

// Package penstock is what every plugin needs, whatever it does: it registers the manifest, and gives the request's
// configuration, history, vocabulary and random numbers.
//
// What a plugin does is in a package for each extension point: sampler, stop and template, and beside them prepare, accept,
// rewind and warm. Importing one exports its function to the host, which then calls it for every token, so import only what
// the plugin implements: what it does not export costs nothing.
//
// A plugin is a program whose main does nothing and whose init registers:
//
//	func init() {
//		p := &coin{}
//		penstock.Register(penstock.Manifest{Name: "coin"}, p.open)
//		sampler.Register(p)
//	}
//
//	func main() {}
//
// One instance of the program serves one request, so p may keep what it likes. Calls never overlap.
package penstock
