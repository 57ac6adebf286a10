// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/penstock/penstock/scheduler"
)

// curve is what passes cost on a machine where they were measured.
type curve struct {
	passes []pass        // the shortest first
	row    time.Duration // for the logits of each token but one
	read   time.Duration // of a cell
	attend time.Duration // a token to a cell
}

// pass is what the pass of so many tokens costs, with logits after one of them and without
// attention.
type pass struct {
	tokens int
	cost   time.Duration
}

// Cost is the time of a pass over a batch.
func (c *curve) Cost(b *scheduler.Batch) time.Duration {
	cost := c.interpolate(b.Len()) - c.row
	for i, at := range b.Positions {
		cost += time.Duration(at) * c.attend
		if i+1 == b.Len() || b.Sequences[i+1] != b.Sequences[i] { // the last of its sequence attends to all of it
			cost += time.Duration(at) * c.read
		}
		if b.Outputs[i] {
			cost += c.row
		}
	}
	return cost
}

// interpolate draws straight lines between what was measured, and the last one on.
func (c *curve) interpolate(tokens int) time.Duration {
	i := 1
	for i < len(c.passes)-1 && c.passes[i].tokens < tokens {
		i++
	}
	from, to := c.passes[i-1], c.passes[i]
	return from.cost + (to.cost-from.cost)*time.Duration(tokens-from.tokens)/time.Duration(to.tokens-from.tokens)
}
