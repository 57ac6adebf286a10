// SPDX-License-Identifier: MIT

package plugin

// random draws by counting: a draw depends on the seed, the plugin's place in the chain, the position in the conversation
// and how many draws were made at that position, and on nothing else. So an answer that is computed again, after tokens
// were taken back for instance, draws the same.
type random struct {
	seed, place uint64
	position    int
	nth         uint64
}

// at moves to a position; a new one begins with its first draw.
func (r *random) at(position int) {
	if position != r.position {
		r.position, r.nth = position, 0
	}
}

// next gives 64 random bits.
func (r *random) next() uint64 {
	x := mix(r.seed)
	x = mix(x ^ r.place)
	x = mix(x ^ uint64(r.position))
	x = mix(x ^ r.nth)
	r.nth++
	return x
}

// mix is a step of the generator splitmix64: each bit of x moves about half of the result's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
