// SPDX-License-Identifier: MIT

package chain

import (
	"sync"
	"testing"
)

// Two goroutines come for the row at the same moment: neither may go on before it is copied.
func TestRow_Copy_WhoComesSecondFindsItWhole(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for round := range 200 {
		logits := make([]float32, 128<<10)
		logits[len(logits)-1] = float32(round)
		r.Lend([][]float32{logits}, &loans)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if row := r.Copy(); len(row) != len(logits) || row[len(row)-1] != float32(round) {
					t.Errorf("round %d: %d of %d logits were there", round, len(row), len(logits))
				}
			})
		}
		both.Wait()
		loans.Wait()
	}
}

// A row that the backend does not have is lent as well: its loan ends, and no row before it is
// taken for it.
func TestRow_Missing(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for name, end := range map[string]func(){"copied": func() { r.Copy() }, "returned": r.Return} {
		r.Lend([][]float32{{1, 2}}, &loans)
		r.Copy()
		r.Lend([][]float32{nil}, &loans)
		if !r.missing() {
			t.Errorf("%s: it is there before", name)
		}
		end()
		loans.Wait()
	}
	r.Lend([][]float32{nil}, &loans)
	if copied := r.Copy(); len(copied) != 0 || !r.missing() {
		t.Errorf("its copy is %v", copied)
	}
}

// Rows that follow one another are on loan together, until the last is copied, or they are
// returned or recalled.
func TestRow_Skip_LaterRowsStayOnLoan(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	onLoan := func() bool { return r.onLoan }
	r.Lend([][]float32{{1}, {2}, {3}, {4}}, &loans)
	if r.Copy()[0] != 1 || !onLoan() {
		t.Error("the loan has ended with the first row")
	}
	if !r.Skip(2) || r.logits()[0] != 3 {
		t.Errorf("the second after the first is %v", r.logits())
	}
	if r.Skip(2) {
		t.Error("there is a fifth row")
	}
	if !r.Skip(1) || r.Copy()[0] != 4 || onLoan() {
		t.Errorf("the last is %v, still on loan: %v", r.logits(), onLoan())
	}
	loans.Wait()
	r.Lend([][]float32{{5}, {6}}, &loans)
	r.Recall()
	loans.Wait()
	if r.logits()[0] != 5 || r.Skip(1) {
		t.Errorf("after a recall there is %v", r.logits())
	}
	r.Lend([][]float32{{7}, {8}}, &loans)
	r.Return()
	loans.Wait()
	if r.Skip(1) {
		t.Error("a row follows one that was returned")
	}
}
