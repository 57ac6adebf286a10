// SPDX-License-Identifier: MIT

package chain

// This file spares copies of the row, which is half a megabyte and differs for each token.

// RowTaker is a stage that takes what it needs of the whole row where the row lies, instead of being given a copy.
type RowTaker interface {
	// TakeRow comes before an Apply on the whole row; the view's row is nil then. The next forward pass may wait for it, so it must be
	// quick, and it keeps nothing of what it is given. If Apply leaves the view as it is, the next stage is given the row. With false it
	// has taken nothing, and finds a copy in the view.
	TakeRow(WholeRow) bool
}

// RowIgnorer is a stage that need not be given the row along with candidates.
type RowIgnorer interface {
	// IgnoresRow tells that Apply does not look at the row where there are candidates.
	IgnoresRow() bool
}

// WholeRow is the row with what the stages asked for.
type WholeRow struct {
	logits []float32
	by     *restriction
}

// WriteTo writes the logits, as many as there is room for.
func (w WholeRow) WriteTo(to []float32) { w.by.write(to, w.logits) }

// Logits are to be read, and only until TakeRow returns.
func (w WholeRow) Logits() []float32 {
	if w.by.none() {
		return w.logits
	}
	return w.by.apply(w.logits)
}

// giveRow gives a stage the row if the view has none and the stage needs one.
func (c *Chain) giveRow(stage Stage, row *Row) {
	v := &c.view
	if v.Row != nil {
		return
	}
	if v.N < 0 {
		if t, ok := stage.(RowTaker); ok && row.lendTo(t, &c.restriction) {
			return
		}
	} else if i, ok := stage.(RowIgnorer); ok && i.IgnoresRow() {
		return
	}
	v.Row = row.restricted(&c.restriction)
}
