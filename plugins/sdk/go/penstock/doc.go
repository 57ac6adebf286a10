// SPDX-License-Identifier: MIT

// Package penstock is what every plugin needs: it registers the manifest, and gives the request's configuration, history,
// vocabulary and random numbers.
//
// Each extension point has a package of its own: sampler, stop and template, and beside them prepare, accept,
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
