// SPDX-License-Identifier: MIT

package main

import (
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/scheduler"
)

// policy is how routers choose a replica for a message.
type policy string

const (
	random     policy = "random"
	leastLoad  policy = "load"   // the one with the fewest requests
	prefix     policy = "prefix" // one that has most of the prompt in its KV cache
	prefixLoad policy = "both"   // the same, unless it has too many requests; else the one with the fewest
)

var policies = []policy{random, leastLoad, prefix, prefixLoad}

func (p policy) asksPrefixes() bool { return p == prefix || p == prefixLoad }

// A replica has too many requests for its prefix if it has more than tooManyTimes as many as the
// one with the fewest, and a part of its slots more besides. SGLang's router, too, compares with
// 1.5 times the fewest and allows for a number more (--balance-rel-threshold
// and --balance-abs-threshold).
const (
	tooManyTimes = 1.5
	tooManySlots = 8 // an eighth of the slots
)

// router chooses replicas by what it was told at its last poll of each, and by what it has sent
// there since.
type router struct {
	fleet   *fleet
	rng     *rand.Rand
	polled  []int // requests, by replica
	sent    []int // since then
	digests []uint64
	equals  []int32
}

func newRouter(f *fleet, number uint64) *router {
	return &router{fleet: f, rng: rand.New(rand.NewPCG(f.seed, ^number)), polled: make([]int, f.size), sent: make([]int, f.size)}
}

// load is how many requests a replica has, as far as the router knows. One that never waits
// between polls knows it exactly.
func (r *router) load(replica int) int {
	if r.fleet.poll == 0 {
		return r.fleet.replicas[replica].open
	}
	return r.polled[replica] + r.sent[replica]
}

// poll tells the router what a replica has.
func (r *router) poll(replica, requests int) { r.polled[replica], r.sent[replica] = requests, 0 }

// choose chooses the replica for a prompt.
func (r *router) choose(prompt []scheduler.Token) int {
	chosen := r.byPolicy(prompt)
	r.sent[chosen]++
	return chosen
}

func (r *router) byPolicy(prompt []scheduler.Token) int {
	switch r.fleet.policy {
	case leastLoad:
		return r.fewest(r.fleet.all)
	case prefix:
		if holders := r.holders(prompt); len(holders) > 0 {
			return int(holders[r.rng.IntN(len(holders))])
		}
	case prefixLoad:
		idlest := r.fewest(r.fleet.all)
		if holders := r.holders(prompt); len(holders) > 0 {
			least := r.load(idlest)
			best := r.fewest(holders)
			if most := int(tooManyTimes*float64(least)) + r.fleet.hardware.slots/tooManySlots; r.load(best) <= most {
				return best
			}
		}
		return idlest
	}
	return r.rng.IntN(r.fleet.size)
}

// holders are the replicas that have most of a prompt.
func (r *router) holders(prompt []scheduler.Token) []int32 {
	r.digests = digests(r.digests[:0], prompt)
	return r.fleet.index.longest(r.digests)
}

// fewest is the one of some replicas with the fewest requests, any of those that are equal.
func (r *router) fewest(of []int32) int {
	least := 0
	r.equals = r.equals[:0]
	for _, replica := range of {
		switch n := r.load(int(replica)); {
		case len(r.equals) == 0 || n < least:
			least = n
			r.equals = append(r.equals[:0], replica)
		case n == least:
			r.equals = append(r.equals, replica)
		}
	}
	return int(r.equals[r.rng.IntN(len(r.equals))])
}

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
