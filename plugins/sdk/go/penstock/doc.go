// SPDX-License-Identifier: MIT

// Package penstock is what every plugin needs: its registration, the types that its methods get
// and give, and what it may ask the host for.
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
// Which methods there are say the interfaces of this package: Opener, Warmer, Renderer, Preparer,
// Sampler or RowSampler, Accepter, Stopper, Rewinder and Closer. The file penstock_exports.go,
// which penstock plugin build and penstock plugin exports write, exports what the type has to the
// host. What it does not have is never called and costs nothing.
//
// Each request gets a fresh value of the type, so its fields belong to that request alone. Calls
// never overlap.
package penstock
