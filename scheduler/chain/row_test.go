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
