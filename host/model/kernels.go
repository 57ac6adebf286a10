// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"

	"github.com/penstock/penstock/native"
)

// BrokenKernel is a kernel of the CPU that crashes, or whose results differ from those of plain
// steps.
type BrokenKernel struct {
	native.Kernel
	Reason string
}

// useSoundKernels has this process use the chosen kernels, without the broken ones, which it
// returns. To find them, a child process first tries the kernels for a file's weights and for
// attention. Those that pass are noted for this CPU and build.
func useSoundKernels(ctx context.Context, in *inspection, o CheckOptions) ([]BrokenKernel, error) {
	t := kernelTrial{path: soundKernelsPath(o.CacheDir), sound: map[native.Kernel]bool{}}
	t.load()
	operations := append(slices.Sorted(maps.Keys(in.types)), native.Attention)
	t.broken = slices.Clone(o.Broken)
	set := o.Kernels.Without(t.brokenKernels()...)
	for todo := t.todo(operations, o.Kernels, set); len(todo) > 0; todo = t.todo(operations, o.Kernels, set) {
		if err := t.run(ctx, todo); err != nil {
			return nil, err
		}
		set = o.Kernels.Without(t.brokenKernels()...)
	}
	t.save()
	if native.KernelsInUse() != set { // which waits for the passes of other models
		native.UseKernels(set)
	}
	return t.broken, nil
}

// SoundKernels are those of a choice that compute right on this CPU for what other processes send:
// of products the plain ones, which need no other layout of weights, and any for attention.
func SoundKernels(ctx context.Context, choice native.KernelChoice) (native.KernelSet, []BrokenKernel, error) {
	broken, err := useSoundKernels(ctx, &inspection{}, CheckOptions{Kernels: choice}.withDefaults())
	return native.KernelsInUse(), broken, err
}

func (t *kernelTrial) brokenKernels() (broken []native.Kernel) {
	for _, b := range t.broken {
		broken = append(broken, b.Kernel)
	}
	return broken
}

// kernelTrial is what is known of this CPU's kernels.
type kernelTrial struct {
	path   string // of the file that remembers the sound ones; empty: none does
	sound  map[native.Kernel]bool
	fresh  bool // some of them are not in the file
	broken []BrokenKernel
}

// todo lists the kernels of a set for the operations that were not tried yet. The plain kernels
// are not tried: they are what is left if all others fail, and the trial of the file tries them.
func (t *kernelTrial) todo(operations []native.Operation, c native.KernelChoice, set native.KernelSet) []native.Kernel {
	var out []native.Kernel
	for _, o := range operations {
		for _, k := range c.Order(o) {
			if k.Family != native.PlainKernels && set.Allows(k) && !t.sound[k] {
				out = append(out, k)
			}
		}
	}
	return out
}

// load reads which kernels passed before. A file that cannot be read has them tried again.
func (t *kernelTrial) load() {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return
	}
	var known []native.Kernel
	if json.Unmarshal(data, &known) == nil {
		for _, k := range known {
			t.sound[k] = true
		}
	}
}

// save notes the sound ones. The others are tried again at each start: a fault may be due to the
// moment.
func (t *kernelTrial) save() {
	if t.path == "" || !t.fresh {
		return
	}
	if data, err := json.Marshal(slices.Collect(maps.Keys(t.sound))); err == nil {
		_ = writeFile(t.path, data) // without it the next start tries them again
	}
}
