// SPDX-License-Identifier: MIT

package kvcache

import "slices"

// Unsure reports whether the memory panicked while it changed a sequence that was not emptied
// since.
func Unsure(c *Cache) bool {
	return slices.ContainsFunc(c.sequences, func(s *Sequence) bool { return s.unsure })
}
