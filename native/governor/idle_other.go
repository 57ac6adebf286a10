// SPDX-License-Identifier: MIT

//go:build !linux

package governor

// idleCores returns a function that does not know how many processors are idle.
func idleCores() func() float64 { return func() float64 { return -1 } }
