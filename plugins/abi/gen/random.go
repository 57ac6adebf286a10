// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"

	"github.com/penstock/penstock/plugins/abi/table"
)

// goDraw renders the function that computes random numbers, for the host and for the tests of the
// Go SDK.
func goDraw(b *bytes.Buffer) {
	g := table.Generator
	fmt.Fprintf(b, `// Draw is the result of the import random: a function of the seed, the plugin's place in the chain,
// the position and the number of earlier draws at that position. See "Random numbers" in
// docs/abi/v1.md.
func Draw(seed, place, position, before uint64) uint64 {
	x := uint64(0)
	for _, part := range [...]uint64{seed, place, position, before} {
		x = (x ^ part) + %#x
		x = (x ^ x>>%d) * %#x
		x = (x ^ x>>%d) * %#x
		x ^= x >> %d
	}
	return x
}

`, g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2])
}

// rustDraw is goDraw in Rust.
func rustDraw(b *bytes.Buffer) {
	g := table.Generator
	fmt.Fprintf(b, `
/// The result of the import random: a function of the seed, the plugin's place in the chain, the
/// position and the number of earlier draws at that position. See "Random numbers" in
/// docs/abi/v1.md.
pub fn draw(seed: u64, place: u64, position: u64, before: u64) -> u64 {
    [seed, place, position, before].iter().fold(0u64, |x, part| {
        let x = (x ^ part).wrapping_add(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        x ^ x >> %d
    })
}
`, g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2])
}
