// SPDX-License-Identifier: MIT

package guest

import "github.com/penstock/penstock/plugins/abi"

// random counts the draws at a position. A draw depends on nothing else than its count, the
// position, the plugin's index in the chain and the seed, so an answer that is computed again,
// after tokens were taken back for instance, draws the same.
type random struct {
	seed, index uint64
	position    int
	nth         uint64
}

// moveTo moves to a position; a new one begins with its first draw.
func (r *random) moveTo(position int) {
	if position != r.position {
		r.position, r.nth = position, 0
	}
}

// next gives 64 random bits.
func (r *random) next() uint64 {
	x := abi.Draw(r.seed, r.index, uint64(r.position), r.nth)
	r.nth++
	return x
}
