// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/penstock/penstock/native/cgroup"
)

// Device is something llama.cpp can compute on.
type Device struct {
	Name        string
	Description string
	Backend     string
	Buffer      string // the type of its buffers, as TensorOverride names it; "": it has none
	Kind        string // cpu, gpu, igpu, accelerator, meta
	Free, Total uint64 // bytes of memory; 0 where unknown
}

var deviceKinds = [...]string{"cpu", "gpu", "igpu", "accelerator", "meta"}

func kindOf(kind C.int32_t) string {
	if kind >= 0 && int(kind) < len(deviceKinds) {
		return deviceKinds[kind]
	}
	return "unknown"
}

// Devices lists what llama.cpp can compute on.
func Devices() ([]Device, error) {
	var out []Device
	for i := range int(C.ps_device_count()) {
		var e C.ps_error
		var d C.ps_device
		if err := failure(C.ps_device_at(C.int32_t(i), &d, &e), &e); err != nil {
			return nil, err
		}
		out = append(out, Device{
			Name: C.GoString(&d.name[0]), Description: C.GoString(&d.description[0]), Backend: C.GoString(&d.backend[0]), Buffer: C.GoString(&d.buffer[0]),
			Kind: kindOf(d.kind), Free: uint64(d.free), Total: uint64(d.total),
		})
	}
	return out, nil
}

var numaModes = map[string]C.int32_t{"none": 0, "distribute": 1, "isolate": 2, "numactl": 3}

// UseNUMA binds the threads of passes to the memory of a machine with several nodes: distribute
// spreads them over all, isolate keeps them on the node that this thread runs on, numactl takes
// the CPUs that numactl left. The first that is not none counts for the whole process.
func UseNUMA(mode string) error {
	strategy, err := choose("NUMA mode", mode, "none", numaModes)
	if err == nil && strategy != 0 {
		C.ps_numa(strategy)
	}
	return err
}

// SystemInfo is llama.cpp's line about the CPU features that it was built to use.
func SystemInfo() (string, error) {
	var e C.ps_error
	var text C.ps_text
	if err := failure(C.ps_system_info(&text, &e), &e); err != nil {
		return "", err
	}
	return takeText(&text), nil
}

// Live is how many objects of each kind exist in C.
type Live struct {
	Models, Contexts, Samplers, Templates, Answers, States, Adapters, Projectors, Media int
}

// LiveObjects counts the objects in C, for tests that look for leaks.
func LiveObjects() Live {
	var l C.ps_live
	C.ps_live_objects(&l)
	return Live{int(l.models), int(l.contexts), int(l.samplers), int(l.templates), int(l.answers), int(l.states), int(l.adapters),
		int(l.projectors), int(l.media)}
}

// usable is how many CPUs affinity leaves to this process: Go's default, read before anyone can
// change it.
var usable = runtime.GOMAXPROCS(0)

// PhysicalCores is how many cores this process may use. The hyper-threads of a core count once:
// decoding is bound by memory and by arithmetic units, which they share. Where its control groups
// allow less processor time, such as that of 1.5 processors, it is as many as can compute all the
// time.
func PhysicalCores() int { return within(coresUsable(), cgroup.Processors()) }

// within is how many of the cores can be busy all the time, of so much processor time.
func within(cores int, processors float64) int {
	return max(1, int(min(float64(cores), processors)))
}

var coresUsable = sync.OnceValue(func() int {
	siblings, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list")
	cores := map[string]bool{}
	for _, file := range siblings {
		if list, err := os.ReadFile(file); err == nil {
			cores[strings.TrimSpace(string(list))] = true
		}
	}
	if len(cores) == 0 || len(cores) > usable {
		return usable
	}
	return len(cores)
})

// weightsPerThread is how many bytes of weights there should be for each thread. With fewer,
// threads spend more time waiting for each other than computing.
const weightsPerThread = 16 << 20

// Threads is how many threads suit a model by the bytes of its weights.
func Threads(weights uint64) int { return min(PhysicalCores(), 1+int(weights/weightsPerThread)) }

// Remote is devices of another machine that ggml's RPC backend computes with.
type Remote struct{ endpoint C.int32_t }

// OpenRemote makes the devices of ggml's server at the other end of a socket known by names, in
// its order. ModelOptions may name them until Close. ggml ends this process if the server does not
// answer: package host/remote keeps that from happening.
func OpenRemote(socket uintptr, names []string) (*Remote, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	list, err := cNames(&pin, names)
	if err != nil {
		return nil, err
	}
	var e C.ps_error
	r := &Remote{}
	if err := failure(C.ps_remote_open(C.int32_t(socket), list, C.size_t(len(names)), &r.endpoint, &e), &e); err != nil {
		return nil, err
	}
	return r, nil
}

// Close forgets the devices. Models that use them must be closed before. The socket stays open.
func (r *Remote) Close() { C.ps_remote_close(r.endpoint) }

// ServeDevices computes with devices of this machine what ggml's client at the other end of a
// socket asks for, until it closes that. Weights that were sent once are kept in the folder cache,
// if it is named. ggml ends the process on a request that it does not understand, so it is for a
// process of its own.
func ServeDevices(socket uintptr, names []string, threads int, cache string) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	list, err := cNames(&pin, names)
	if err != nil {
		return err
	}
	folder := C.CString(cache)
	defer freeString(folder)
	var e C.ps_error
	return failure(C.ps_serve_devices(C.int32_t(socket), list, C.size_t(len(names)), C.size_t(threads), folder, &e), &e)
}

// cNames makes names into C's, which the pinner keeps in place.
func cNames(pin *runtime.Pinner, names []string) (**C.char, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no device is named", ErrInvalid)
	}
	s := texts{pin: pin}
	list := make([]*C.char, len(names))
	for i, name := range names {
		list[i] = s.text(name)
	}
	pin.Pin(&list[0])
	return &list[0], s.err
}

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
