// SPDX-License-Identifier: MIT

package drive

import (
	"math"

	"github.com/penstock/penstock/scheduler/chain"
)

// Banned is the logit of a token that may not come.
var Banned = float32(math.Inf(-1))

// Prepare edits a row as a host does with what a plugin has prepared. A mask leaves a token, as a
// model's row has a number for each.
func Prepare(row []float32, p chain.Prepared) {
	if p.Mask != nil {
		first, left := -1, false
		for t := range row {
			if p.Mask[t/32]>>(t%32)&1 == 0 {
				row[t] = Banned
				continue
			}
			if first < 0 {
				first = t
			}
			left = left || row[t] > Banned
		}
		if !left {
			row[max(0, first)] = 0
		}
	}
	for _, b := range p.Bias {
		row[b.Token] += b.Value
	}
}
