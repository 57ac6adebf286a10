// SPDX-License-Identifier: MIT

package piece

// NewTableFrom makes a table whose first token is a given one, so that tests come to its end.
func NewTableFrom(first Token) *Table {
	t := NewTable()
	t.floor = first
	return t
}

// Known is how many pieces a table knows.
func Known(t *Table) int { return len(t.order) }
