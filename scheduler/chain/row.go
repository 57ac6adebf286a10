// SPDX-License-Identifier: MIT

package chain

import "sync"

// Row is a row of logits in the backend's memory, which the next forward pass overwrites, or the copy of it: it is lent until it is
// copied or returned, even if it is empty. Copy and Return may be called by two goroutines at a time.
type Row struct {
	mu     sync.Mutex
	onLoan bool            // neither copied nor returned
	lent   []float32       // nil: the backend has no such row
	copied []float32       // its memory is used again for the next row
	loans  *sync.WaitGroup // of the lender
}

// Lend lends a row. It counts among the loans until it is copied or returned.
func (r *Row) Lend(logits []float32, loans *sync.WaitGroup) {
	loans.Add(1)
	r.onLoan, r.lent, r.loans = true, logits, loans
}

// Copy copies the row if it is lent, and returns the copy, to which stages may write. When it returns, the row is copied, whoever
// did it.
func (r *Row) Copy() []float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onLoan {
		r.copied = append(r.copied[:0], r.lent...)
		r.end()
	}
	return r.copied
}

// Return tells the lender that the row is not needed any more, if it was not copied.
func (r *Row) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onLoan {
		r.end()
	}
}

func (r *Row) end() {
	r.onLoan, r.lent = false, nil
	r.loans.Done()
}

// restricted is the row with what the stages asked for, to which stages may write. It is written straight from the backend's memory:
// a row is half a megabyte, and those of all slots are read at once.
func (r *Row) restricted(by *restriction) []float32 {
	if by.none() {
		return r.Copy()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return by.apply(r.logits())
}

// lendTo has a stage take what it needs of the row, wherever that is. It stays there until then.
func (r *Row) lendTo(t RowTaker, by *restriction) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.TakeRow(WholeRow{r.logits(), by})
}

// missing reports whether the backend had no such row.
func (r *Row) missing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.logits()) == 0
}

// logits are those of the row, wherever they are; r.mu is held.
func (r *Row) logits() []float32 {
	if r.onLoan {
		return r.lent
	}
	return r.copied
}
