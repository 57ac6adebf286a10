// SPDX-License-Identifier: MIT

package chain

// Guard is a stage that knows which tokens the request allows: it has a grammar. What other stages choose, force or splice
// is tested against it.
type Guard interface {
	// Guards tells whether there is anything to test.
	Guards() bool
	// Fits tells how many of the tokens may come next, one after the other. It changes nothing.
	Fits(tokens []Token) (int, error)
}

// Act is what a stage asked for.
type Act uint8

// The acts of a stage that can be refused.
const (
	ActMask   Act = iota + 1 // Prepare: with its mask and its bans no token is left
	ActForce                 // Prepare: a forced token that the request does not allow
	ActChoose                // Apply: a chosen one
	ActSplice                // Accept: tokens taken back too far or too often, or put where they are not allowed
)

// Answerable is implemented by stages that answer for what they ask for.
type Answerable interface {
	// Refuse tells the stage that what it asked for is not done, and why. What it returns ends the request; with nil the
	// request goes on as if the stage had not asked, and the stage asks for nothing any more.
	Refuse(act Act, why error) error
}
