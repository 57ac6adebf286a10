// SPDX-License-Identifier: MIT

package fit

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/model"
)

// Layered tells what contexts of a model take of which so many layers are on GPUs; negative: all.
type Layered func(ctx context.Context, gpuLayers int) (Model, error)

// Layers finds out how many layers of a model can be on the GPUs, and says it in a line where they
// are not all (-1). A smaller context, fewer slots and no drafts come before fewer layers, which
// cost most of the speed. Where layers stay with the CPU, the slots are those wished.
func Layers(ctx context.Context, of Layered, w Wish, r Room) (layers int, text string, err error) {
	all, err := of(ctx, -1)
	if err != nil {
		return -1, "", err
	}
	whole, err := Choose(ctx, all, w, r)
	if !errors.Is(err, model.ErrTooLarge) {
		return -1, "", err
	}
	if len(whole.Need.GPUs()) == 0 {
		return -1, "", nil // what loads it says that it does not fit
	}
	w.AnySlots, w.Snapshots = false, 0
	fits := func(n int, r Room) (bool, error) {
		m, err := of(ctx, n)
		if err != nil {
			return false, err
		}
		w.GPULayers = n
		_, ok, err := newSearch(ctx, m, w, r).less()
		return ok, err
	}
	// Main memory has to do with what is left, so it is looked at where the GPUs have as much as
	// they can. Without layers they have nothing.
	fitting, over := 0, all.Info().Layers+1 // the output layer is one, too
	for fitting+1 < over {
		n := (fitting + over) / 2
		ok, err := fits(n, Room{Margin: r.Margin})
		switch {
		case err != nil:
			return -1, "", err
		case ok:
			fitting = n
		default:
			over = n
		}
	}
	if ok, err := fits(fitting, r); !ok {
		return -1, "", err // likewise
	}
	return fitting, fmt.Sprintf("all layers do not fit on the GPU, where they would take %s; %d of %d layers are there", whole.account(r), fitting,
		all.Info().Layers+1), nil
}
