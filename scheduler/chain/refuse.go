// SPDX-License-Identifier: MIT

package chain

import "fmt"

// Act is what a stage asked for and was refused.
type Act uint8

// The acts that can be refused.
const (
	ActMask   Act = iota + 1 // Prepare: with its mask and its bans no token is left
	ActForce                 // Prepare: a forced token that the request does not allow
	ActChoose                // Apply: a chosen one
	ActSplice                // Accept: tokens taken back too far or too often, or put where they are not allowed
)

// Refuse tells a stage that what it asked for is not done. An error ends the request.
func (c *Chain) Refuse(by int, act Act, why error) error {
	if refuse := c.links[by].traits.Refuse; refuse != nil {
		return refuse(act, why)
	}
	return fmt.Errorf("stage %d of the chain: %w", by, why)
}
