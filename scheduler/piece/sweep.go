// SPDX-License-Identifier: MIT

package piece

import (
	"iter"
	"slices"
)

// leastSwept is how many entries a table has at least before it is swept.
const leastSwept = 64

// Due reports whether the table has twice as many entries as the last sweep left: it is time for
// another.
func (t *Table) Due() bool {
	if t == nil {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.order) >= max(leastSwept, 2*t.swept)
}

// Sweep drops what nobody has any more: no living piece, and none of some lists of tokens. A
// thousand tokens take microseconds.
func (t *Table) Sweep(lists iter.Seq[[]Token]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := make(map[*entry]bool, len(t.order))
	for tokens := range lists {
		for i := 0; i < len(tokens); i++ {
			if tokens[i] >= 0 {
				continue
			}
			if e := t.find(tokens[i]); e != nil {
				had[e] = true
				i += e.shape.Rows - int(tokens[i]-e.first) - 1
			}
		}
	}
	t.order = slices.DeleteFunc(t.order, func(e *entry) bool {
		if had[e] || e.living() != nil {
			return false
		}
		delete(t.byHash, e.shape.Hash)
		return true
	})
	t.swept = len(t.order)
}
