// SPDX-License-Identifier: MIT

package main

import "github.com/penstock/penstock/scheduler"

// vocabulary is how many tokens there are. So many that each conversation has its own: two prompts
// agree exactly as far as they are the same text.
const vocabulary = 1 << 31

// first is the token with which text number n begins. No two texts begin alike.
func first(n uint64) scheduler.Token { return scheduler.Token(n * 0x9E3779B1 % vocabulary) }

// next is the token after t, in all texts and answers: a linear congruential generator, which
// returns to t after all others.
func next(t scheduler.Token) scheduler.Token {
	return scheduler.Token((uint64(t)*1664525 + 1013904223) % vocabulary)
}

// appendText appends the first n tokens of a text.
func appendText(to []scheduler.Token, text uint64, n int) []scheduler.Token {
	for t := first(text); n > 0; n-- {
		to = append(to, t)
		t = next(t)
	}
	return to
}

// block is how many tokens a digest is of.
const block = 64

// digest names the prefix that ends with a block, by the name of the prefix before it. A token
// determines those after it, so the last one of a block stands for all of them.
func digest(before uint64, last scheduler.Token) uint64 {
	h := (before ^ uint64(last)) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// digests are the names of the prefixes of a prompt, the shortest first.
func digests(to []uint64, prompt []scheduler.Token) []uint64 {
	before := uint64(0)
	for end := block; end <= len(prompt); end += block {
		before = digest(before, prompt[end-1])
		to = append(to, before)
	}
	return to
}
