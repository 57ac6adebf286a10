// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

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
