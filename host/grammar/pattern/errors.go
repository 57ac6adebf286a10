// SPDX-License-Identifier: MIT

package pattern

import "fmt"

// Error says why a pattern is not taken, and where.
type Error struct {
	Offset int // in bytes; -1 where it is the whole
	Why    string
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Why
	}
	return fmt.Sprintf("%s, at byte %d", e.Why, e.Offset)
}

// MaxLength is the longest pattern that is taken, in bytes.
const MaxLength = 16 << 10

// maxDepth is how deep groups may be nested.
const maxDepth = 250
