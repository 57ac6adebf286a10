// SPDX-License-Identifier: MIT

package chain

import "sync"

// Row is a row of logits in the backend's memory, which the next forward pass overwrites, or the
// copy of it: it is lent until it is copied or returned, even if it is empty. Rows of later tokens
// may be lent with it. Copy, Return and Recall may be called by two goroutines at a time.
type Row struct {
	mu     sync.Mutex
	onLoan bool            // the lender waits
	lent   []float32       // nil: the backend has no such row, or it was copied
	isCopy bool            // the row is the copied one
	later  [][]float32     // rows that may follow it
	copied []float32       // its memory is used again for the next row
	loans  *sync.WaitGroup // of the lender
}

// Lend lends a row, and rows that may follow it. They count among the loans until the first is
// copied and the others are not needed.
func (r *Row) Lend(rows [][]float32, loans *sync.WaitGroup) {
	loans.Add(1)
	r.onLoan, r.isCopy, r.lent, r.later, r.loans = true, false, rows[0], rows[1:], loans
}

// Skip makes the n-th of the rows that follow the row. It reports false if there is none, or none
// any more.
func (r *Row) Skip(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > len(r.later) {
		return false
	}
	r.isCopy, r.lent, r.later = false, r.later[n-1], r.later[n:]
	return true
}

// Copy copies the row if it is lent, and returns the copy, to which stages may write. When it
// returns, the row is copied, by this call or another.
func (r *Row) Copy() []float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy()
	if len(r.later) == 0 {
		r.end()
	}
	return r.copied
}

// Recall is for a lender that cannot wait: the row is copied if it is still needed, and none
// follows it any more.
func (r *Row) Recall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onLoan {
		r.copy()
		r.end()
	}
}

// Return tells the lender that no row is needed any more.
func (r *Row) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

func (r *Row) copy() {
	if !r.isCopy {
		r.copied = append(r.copied[:0], r.lent...)
		r.isCopy, r.lent = true, nil
	}
}

func (r *Row) end() {
	if r.onLoan {
		r.onLoan, r.lent, r.later = false, nil, nil
		r.loans.Done()
	}
}

// restricted is the row with what the stages asked for, to which stages may write. It is written
// straight from the backend's memory: a row is half a megabyte, and those of all slots are read at
// once.
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
	if r.isCopy {
		return r.copied
	}
	return r.lent
}
