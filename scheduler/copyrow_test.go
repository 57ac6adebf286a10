// SPDX-License-Identifier: MIT

package scheduler

import (
	"sync"
	"testing"
)

// The tick and the job's goroutine come for the row at the same moment: neither may go on before it is copied.
func TestCrew_CopyRow_WhoComesSecondFindsItWhole(t *testing.T) {
	var copied sync.WaitGroup
	c := &crew{copied: &copied}
	for round := range 200 {
		row := make([]float32, 128<<10)
		row[len(row)-1] = float32(round)
		c.row, c.source, c.waiting = c.row[:0], row, true
		copied.Add(1)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				c.copyRow()
				if len(c.row) != len(row) || c.row[len(row)-1] != float32(round) {
					t.Errorf("round %d: %d of %d logits were there", round, len(c.row), len(row))
				}
			})
		}
		both.Wait()
		copied.Wait()
	}
}
