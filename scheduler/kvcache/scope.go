// SPDX-License-Identifier: MIT

package kvcache

import "math"

// Scope says with what cells are computed and for whom, besides the tokens: requests reuse one
// another's cells as far as both agree.
type Scope struct {
	Salt     string // chosen by the request
	Adapters string // names what computes them besides the model; "": nothing does
	From     int    // first position that Adapters compute: the cells before it are the model's own
}

// Common is how many of the first n cells, whose tokens are the same, are the same in both scopes.
func (s Scope) Common(other Scope, n int) int {
	switch {
	case s.Salt != other.Salt:
		return 0
	case s.Adapters == other.Adapters && s.from() == other.from():
		return n
	}
	return min(n, s.from(), other.from())
}

// from is the first position that is not the model's own.
func (s Scope) from() int {
	if s.Adapters == "" {
		return math.MaxInt
	}
	return s.From
}
