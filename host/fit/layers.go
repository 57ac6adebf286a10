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

// Layers finds out how many layers of a model can be on the GPUs, and says it in a line where they are not all (-1). A smaller context and
// fewer slots come before fewer layers, which cost most of the speed. Where layers stay with the CPU, the slots are those wished.
func Layers(ctx context.Context, of Layered, w Wish, r Room) (layers int, text string, err error) {
	all, err := of(ctx, -1)
	if err != nil {
		return -1, "", err
	}
	whole, err := Choose(ctx, all, w, r)
	if !errors.Is(err, model.ErrTooLarge) || len(whole.Need.GPUs()) == 0 {
		return -1, "", err
	}
	w.AnySlots = false
	fitting, over := -1, all.Info().Layers+1 // the output layer is one, too
	for n := 0; fitting < n && n < over; n = (fitting + over) / 2 {
		m, err := of(ctx, n)
		if err != nil {
			return -1, "", err
		}
		w.GPULayers = n
		s := newSearch(ctx, m, w, r)
		_, ok, err := s.less()
		switch {
		case err != nil:
			return -1, "", err
		case ok:
			fitting = n
		case fitting < 0:
			return -1, "", nil // not even without a GPU: what loads it says so
		default:
			over = n
		}
	}
	return fitting, fmt.Sprintf("all layers do not fit on the GPU, where they would take %s; %d of %d layers are there", whole.account(r), fitting,
		all.Info().Layers+1), nil
}
