// SPDX-License-Identifier: MIT

package chain

import "math"

// Likeliest is the token that a stage has chosen, or else the one with the highest logit of what is left; 0 if nothing is.
func (v *View) Likeliest() Token {
	if v.Chosen >= 0 {
		return v.Chosen
	}
	best, at := float32(math.Inf(-1)), Token(0)
	if v.N >= 0 {
		for i, l := range v.Logit[:v.N] {
			if l > best {
				best, at = l, v.ID[i]
			}
		}
		return at
	}
	for t, l := range v.Row {
		if l > best {
			best, at = l, Token(t)
		}
	}
	return at
}
