// SPDX-License-Identifier: MIT

package completion

import (
	"fmt"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// Caller is who sends a request, as far as it matters to the answer.
type Caller struct {
	ID               string // tells clients apart: by their keys if there are any, else by their addresses
	Keyed            bool   // by its key
	CacheSalt        string // of the prompt cache; "" where all share it
	Administers      bool   // it may change what all share: the key is the admin's, or the server has no keys
	MayRaisePriority bool   // the key is one of those that may ask for more than the ordinary priority

	Files media.Files // that it has sent by themselves; nil: it cannot
}

// Owns reports whether what belongs to a client is the caller's. Without keys nobody can say: a
// client that comes back may have another address.
func (c Caller) Owns(owner Caller) bool { return !owner.Keyed || c.ID == owner.ID }

// checkPriority refuses a priority that the caller may not ask for.
func (c Caller) checkPriority(priority int) error {
	if priority <= 0 || c.MayRaisePriority {
		return nil
	}
	return &refusal.Error{Kind: refusal.KindForbidden, Code: "priority_not_allowed", Field: "priority",
		Message: fmt.Sprintf("priority is %d; it may be at most 0 but for the keys that server.priority_keys lists", priority)}
}
