// SPDX-License-Identifier: MIT

// Package penstock is what every plugin needs: its registration, the types that its methods take
// and return, and the functions of the host.
//
// A plugin is one type with the methods that it needs, registered once:
//
//	var _ = penstock.Register[coin](penstock.Manifest{Name: "coin"})
//
//	func main() {}
//
//	// coin takes one of the two best candidates.
//	type coin struct{}
//
//	func (*coin) Sample(c *penstock.Candidates) penstock.Choice {
//		if c.Len() > 1 && penstock.Uniform() < 0.5 {
//			return penstock.Take(c.IDs()[1])
//		}
//		return penstock.Keep(1)
//	}
//
// The interfaces of this package list the methods: Opener, Warmer, Planner, Renderer, Preparer,
// Sampler or RowSampler, Accepter, Drafter, Stopper, Rewinder, Closer, Rewriter and Runner. The
// module exports all of them, and its manifest lists those that the type has. A method that it does
// not have is never called and costs nothing. A line such as
//
//	var _ penstock.Sampler = (*coin)(nil)
//
// has the compiler refuse a method with other parameters than the SDK's. Without it, a test with
// package plugintest finds such a method, and a misspelt one; when the module is loaded only the
// likeliest of these mistakes are found.
//
// Each request gets a new value of the type, so its fields belong to that request alone. Calls
// never overlap.
package penstock
