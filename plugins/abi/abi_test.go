// SPDX-License-Identifier: MIT

package abi_test

import (
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/abi/table"
)

func TestDraw_Worked(t *testing.T) {
	w := table.WorkedDraw
	for n, want := range w.Draws {
		if got := abi.Draw(w.Seed, w.Place, w.Position, uint64(n)); got != want {
			t.Errorf("draw %d is %#x, want %#x", n, got, want)
		}
	}
}
