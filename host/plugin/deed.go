// SPDX-License-Identifier: MIT

package plugin

// Deed is a call of a host function whose answer a player cannot compute, with what the guest gave
// and what came of it. The ABI's table says which lists there are. Memory is in it, addresses are
// not.
type Deed struct {
	Import  string
	Args    []int32 // its parameters but for addresses
	Tokens  []int32 // what the guest gave: tokens and handles
	Numbers []float32
	Text    string
	Digest  string // of what is long: SHA-256 in hexadecimal digits

	Answer int32
	Gave   Given
	Err    error // why the host had no answer
	Fuel   int64 // that it took
	Added  int64 // that a wait brought
	Failed bool  // it has ended the call, or the run of a program
}

// Given is what a guest got in its memory.
type Given struct {
	Tokens  []int32
	Numbers []float32
	Text    string
	Mask    []uint32 // in the bound buffer; valid until the call is over
}

// Replay answers a deed in the place of the host: it fills in what came of it. False: the host
// function is to answer it. An error ends the call of the guest.
type Replay func(*Deed) (answered bool, err error)
