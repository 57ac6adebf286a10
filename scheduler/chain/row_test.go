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
		r.Lend(logits, &loans)
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

// A row that the backend does not have is lent as well: its loan ends, and no row before it is taken for it.
func TestRow_Missing(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for name, end := range map[string]func(){"copied": func() { r.Copy() }, "returned": r.Return} {
		r.Lend([]float32{1, 2}, &loans)
		r.Copy()
		r.Lend(nil, &loans)
		if !r.missing() {
			t.Errorf("%s: it is there before", name)
		}
		end()
		loans.Wait()
	}
	r.Lend(nil, &loans)
	if copied := r.Copy(); len(copied) != 0 || !r.missing() {
		t.Errorf("its copy is %v", copied)
	}
}
