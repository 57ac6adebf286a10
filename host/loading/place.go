// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// place decides what the workers compute: without another word all layers go to the devices of the workers and this machine's GPUs, by the
// memory that they have free, or as many as fit, and the rest stays with this machine's CPU.
func (w *workers) place(ctx context.Context, c config.Config, o engine.Options, memory uint64) (engine.Options, error) {
	local := o
	local.Model, local.GPULayers, local.Lost = withoutGPU(o.Model), 0, nil
	o.Lost = w.lost
	if len(w.sessions) < len(c.Workers.RPC) { // what was said of the devices holds for all of them together
		o.Model.Devices, o.Model.TensorSplit = nil, nil
	}
	names, room, err := w.devices()
	if err != nil {
		return o, err
	}
	if len(o.Model.Devices) == 0 {
		o.Model.Devices = names
	}
	if len(o.Model.Devices) == 0 {
		o.Model.Devices = []string{"none"} // no worker is left
	}
	if o.GPULayers >= 0 || c.Model.Fit == "off" || len(o.Model.TensorSplit) > 0 {
		return o, nil
	}
	layers := 0
	need, err := askDryRun(ctx, c, local, func(dry *dryRun) (model.Need, error) {
		layers = dry.Info().Layers + 1 // with that of the output
		return dry.alone.Need(ctx, local.ContextOptions(dry.Info()))
	})
	if err != nil {
		return o, err
	}
	var free uint64
	for _, name := range o.Model.Devices {
		free += room[name]
	}
	o.GPULayers, err = shareOfLayers(need.Main().Used(), free/10*9, memory, layers)
	if err != nil {
		return o, fmt.Errorf("%w; the workers: %s", err, cmp.Or(strings.Join(w.describe(), ", "), "none"))
	}
	if mode := o.Model.SplitMode; mode == "" || mode == "layer" {
		o.Model.TensorSplit = shares(o.Model.Devices, room)
	}
	return o, nil
}

// devices are the names of the workers' devices and this machine's GPUs, in ggml's order, and how much memory each has free.
func (w *workers) devices() (names []string, room map[string]uint64, err error) {
	names, room = slices.Clone(w.names), map[string]uint64{}
	for i, name := range names {
		room[name] = w.room[i]
	}
	local, err := native.Devices()
	for _, d := range local {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names, room[d.Name] = append(names, d.Name), d.Free
		}
	}
	return names, room, err
}

// shares are how much of the model each device gets, by its room: ggml's server does not know of limits that its process has. Nil has
// llama.cpp ask it, where not all is known.
func shares(devices []string, room map[string]uint64) []float32 {
	out := make([]float32, len(devices))
	for i, name := range devices {
		if room[name] == 0 {
			return nil
		}
		out[i] = float32(room[name]) / (1 << 20)
	}
	return out
}

// shareOfLayers is how many layers go to devices with so much free memory; -1: all. memory is this machine's, 0 where unknown.
func shareOfLayers(need, free, memory uint64, layers int) (int, error) {
	if need <= free {
		return -1, nil
	}
	n := int(float64(layers) * float64(free) / float64(need))
	if left := need - need/uint64(layers)*uint64(n); memory > 0 && left > memory {
		return 0, fmt.Errorf("%w: it takes %.1f GiB; other devices have room for %d of its %d layers, and the rest takes %.1f GiB of this machine's memory, which has %.1f GiB",
			model.ErrTooLarge, float64(need)/(1<<30), n, layers, float64(left)/(1<<30), float64(memory)/(1<<30))
	}
	return n, nil
}
