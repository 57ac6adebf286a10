// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
)

// DeviceMemory is what a model in use takes of one device's memory, in bytes, as llama.cpp counts
// it.
type DeviceMemory struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // as in Device; the CPU's is main memory
	// Plain are weights in main memory in the order of the file: they are its pages where it is
	// mapped, else copies.
	Plain   uint64 `json:"plain_weights"`
	Weights uint64 `json:"weights"` // others
	Cells   uint64 `json:"cells"`   // KV cache and recurrent states
	Compute uint64 `json:"compute"` // buffers of a forward pass, with its output
	Free    uint64 `json:"free"`    // of the device, 0 where unknown; of main memory llama.cpp knows the total at best
	Total   uint64 `json:"total"`
}

// Used is all that is taken.
func (d DeviceMemory) Used() uint64 { return d.Plain + d.Weights + d.Cells + d.Compute }

// DryRun is a model without weights and vocabulary, with which llama.cpp tells what the real one
// will take.
type DryRun struct{ model *Model }

// OpenDryRun reads what the header of a model's files says. It allocates as little as reading that
// takes, whatever the size of the model. Errors, and the care that unknown files need, are those
// of LoadModel.
func OpenDryRun(ctx context.Context, path string, o ModelOptions) (*DryRun, error) {
	m, err := openModel(ctx, path, o, true)
	if err != nil {
		return nil, err
	}
	return &DryRun{m}, nil
}

// Info describes the model, but for its special tokens.
func (d *DryRun) Info() ModelInfo { return d.model.Info() }

// Need tells what a context with the given options will take, together with the model's weights,
// main memory first.
func (d *DryRun) Need(o ContextOptions) ([]DeviceMemory, error) {
	if o.Cells <= mostDryCells {
		return d.need(o)
	}
	return d.extrapolate(o)
}

func (d *DryRun) need(o ContextOptions) ([]DeviceMemory, error) {
	o.Threads = 1 // it would start more, which have nothing to do
	c, err := NewContext(d.model, o)
	if err != nil {
		return nil, err
	}
	need, err := c.Memory()
	if err == nil && o.FeedsHead {
		err = d.addHead(need, c, o)
	}
	return need, errors.Join(err, c.Close())
}

// addHead adds what the head of a context takes: beside its weights, if those are the model's.
func (d *DryRun) addHead(need []DeviceMemory, c *Context, o ContextOptions) error {
	h, err := NewHead(c, o)
	if err != nil {
		return err
	}
	more, err := h.context.Memory()
	for _, m := range more {
		for i := range need {
			if need[i].Name != m.Name {
				continue
			}
			need[i].Cells += m.Cells
			need[i].Compute += m.Compute
			if d.model.head != nil {
				need[i].Plain += m.Plain
				need[i].Weights += m.Weights
			}
		}
	}
	return errors.Join(err, h.Close())
}

// mostDryCells are the cells that a dry run has at most. Even then llama.cpp keeps some 50 bytes
// of each.
const mostDryCells = 1 << 20

// extrapolate tells what more cells take: it grows with them evenly.
func (d *DryRun) extrapolate(o ContextOptions) ([]DeviceMemory, error) {
	cells := o.Cells
	o.Cells = mostDryCells / 2
	half, err := d.need(o)
	if err != nil {
		return nil, err
	}
	o.Cells = mostDryCells
	need, err := d.need(o)
	if err != nil {
		return nil, err
	}
	for i := range need {
		more := uint64(cells-mostDryCells) / (mostDryCells / 2)
		need[i].Cells += more * (need[i].Cells - half[i].Cells)
		need[i].Compute += more * (need[i].Compute - half[i].Compute)
	}
	return need, nil
}

// Close frees the model.
func (d *DryRun) Close() error { return d.model.Close() }

// Memory tells what the context takes, together with its model's weights, main memory first.
func (c *Context) Memory() ([]DeviceMemory, error) {
	if err := c.enterAlone(); err != nil {
		return nil, err
	}
	defer c.leaveAlone()
	var all [32]C.ps_device_memory
	var n C.size_t
	if code := C.ps_context_memory(c.c(), &all[0], C.size_t(len(all)), &n, &c.err); code != C.PS_OK {
		return nil, fmt.Errorf("memory: %w", failure(code, &c.err))
	}
	out := make([]DeviceMemory, min(int(n), len(all)))
	for i := range out {
		d := &all[i]
		out[i] = DeviceMemory{
			Name: C.GoString(&d.name[0]), Kind: kindOf(d.kind), Plain: uint64(d.plain_weights), Weights: uint64(d.weights),
			Cells: uint64(d.cells), Compute: uint64(d.compute), Free: uint64(d.free), Total: uint64(d.total),
		}
	}
	return out, nil
}
