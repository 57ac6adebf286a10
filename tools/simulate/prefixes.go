// SPDX-License-Identifier: MIT

package main

import "slices"

// holdings are the prefixes in one replica's KV cache, by their digests.
type holdings struct {
	sequences map[uint64]int // how many sequences begin with each
	changes   []change       // since they were last polled
	settled   int            // of changes, those of ticks that have ended
}

// change is a prefix that has come into a cache or has left it.
type change struct {
	digest uint64
	held   bool
}

func newHoldings() *holdings { return &holdings{sequences: map[uint64]int{}} }

// add notes that one more sequence begins with a prefix.
func (h *holdings) add(digest uint64) {
	if h.sequences[digest]++; h.sequences[digest] == 1 {
		h.changes = append(h.changes, change{digest, true})
	}
}

// remove notes that one sequence less does.
func (h *holdings) remove(digest uint64) {
	if h.sequences[digest]--; h.sequences[digest] == 0 {
		delete(h.sequences, digest)
		h.changes = append(h.changes, change{digest, false})
	}
}

// settle notes that a tick has ended: what it has changed can be polled. Without holdings it does
// nothing.
func (h *holdings) settle() {
	if h != nil {
		h.settled = len(h.changes)
	}
}

// index is what a router knows of all caches: which replicas hold a prefix, as of their last polls.
type index map[uint64][]int32

// poll takes in what has changed in a replica's cache. Without holdings it does nothing.
func (x index) poll(replica int, h *holdings) {
	if h == nil {
		return
	}
	for _, c := range h.changes[:h.settled] {
		holders := x[c.digest]
		if c.held {
			holders = append(holders, int32(replica))
		} else if i := slices.Index(holders, int32(replica)); i >= 0 {
			holders[i] = holders[len(holders)-1]
			holders = holders[:len(holders)-1]
		}
		if len(holders) == 0 {
			delete(x, c.digest)
		} else {
			x[c.digest] = holders
		}
	}
	h.changes, h.settled = h.changes[:copy(h.changes, h.changes[h.settled:])], 0
}

// longest are the replicas that hold the longest prefix of a prompt that any holds; none: no
// replica holds the first block.
func (x index) longest(digests []uint64) []int32 {
	for _, d := range slices.Backward(digests) {
		if holders := x[d]; len(holders) > 0 {
			return holders
		}
	}
	return nil
}
