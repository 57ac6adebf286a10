// SPDX-License-Identifier: MIT

package program

import "errors"

// Token is an index into the model's vocabulary.
type Token = int32

// Program is what a request has in place of a sampler chain.
type Program struct {
	// Main is the program. It is called once, on a goroutine of its own, when the request has got
	// its slots, and returns soon after its calls fail with ErrOver. What was shown is the answer
	// then; an error ends that as one.
	Main func(*Run) error
	// Branches is how many it may have at once, at least 1. Each takes a slot, from the beginning
	// to the end.
	Branches int
	// Tokens is how many it may put into branches in all, those of a fork not counted; 0:
	// DefaultTokens.
	Tokens int
}

// spareTokens is how many tokens a program may put into each branch besides a prompt and an
// answer, for what it takes back.
const spareTokens = 256

// DefaultTokens is how many tokens a program may put into so many branches, by the lengths of its
// prompt and of the longest answer.
func DefaultTokens(prompt, answer, branches int) int {
	return prompt + branches*(prompt+answer+spareTokens)
}

// Errors of a program's calls; compare with errors.Is.
var (
	ErrOver        = errors.New("the request has ended")
	ErrNoBranch    = errors.New("no branch is free")
	ErrContextFull = errors.New("the context is full")
	ErrBudget      = errors.New("the program's tokens are used up")
	ErrNoToken     = errors.New("no token is possible")
	ErrRefused     = errors.New("it cannot be used")
	ErrMisuse      = errors.New("a call that no correct program makes")
)
