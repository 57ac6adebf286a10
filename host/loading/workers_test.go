// SPDX-License-Identifier: MIT

package loading

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model"
)

func TestShareOfLayers(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name               string
		need, free, memory uint64
		want               int
		tooLarge           bool
	}{
		{"all fit on the workers", 10 * gib, 10 * gib, gib, -1, false},
		{"half fits, and the rest here", 10 * gib, 5 * gib, 6 * gib, 16, false},
		{"half fits, and the rest does not", 10 * gib, 5 * gib, gib, 0, true},
		{"it is not known what there is here", 10 * gib, 5 * gib, 0, 16, false},
		{"no worker is left", 10 * gib, 0, 11 * gib, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := shareOfLayers(c.need, c.free, c.memory, 33)
			if n != c.want || errors.Is(err, model.ErrTooLarge) != c.tooLarge {
				t.Errorf("%d layers (%v), want %d", n, err, c.want)
			}
			if c.tooLarge && !strings.Contains(err.Error(), "it takes 10.0 GiB; other devices have room for 16 of its 33 layers") {
				t.Error(err)
			}
		})
	}
}

func TestShares(t *testing.T) {
	room := map[string]uint64{"RPC0": 3 << 30, "RPC1": 1 << 30, "RPC2": 0}
	if got := shares([]string{"RPC0", "RPC1"}, room); len(got) != 2 || got[0] != 3*got[1] {
		t.Errorf("%v, want three parts and one", got)
	}
	if got := shares([]string{"RPC0", "RPC2"}, room); got != nil {
		t.Errorf("%v, though it is not known what RPC2 has", got)
	}
}
