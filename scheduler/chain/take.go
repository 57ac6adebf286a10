// SPDX-License-Identifier: MIT

package chain

// This file spares copies of the row, which is half a megabyte and differs for each token.

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
func (c *Chain) giveRow(i int, row *Row) {
	v, l := &c.view, &c.links[i]
	switch {
	case v.Row != nil:
	case v.N < 0 && l.taker != nil && row.lendTo(l.taker, &c.restriction):
	case v.N >= 0 && l.traits.IgnoresRow:
	default:
		v.Row = row.restricted(&c.restriction)
	}
}
