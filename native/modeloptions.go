// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// ModelOptions say how a model is loaded, as llama_model_params does. The zero value maps all of
// the file into main memory; where no zero is named, it is llama.cpp's default.
type ModelOptions struct {
	Devices         []string // names of Devices that compute besides the CPU, or "none"; nil: all GPUs, if GPULayers is not 0
	TensorOverrides []TensorOverride
	GPULayers       int       // layers to put on GPUs; negative: all; 0: none, and no GPU is asked for anything unless Devices names it
	SplitMode       string    // how several GPUs share the model: none, layer, row or tensor; "" is layer
	LoadMode        string    // auto, none, mmap, mlock, mmap+mlock or dio; "" is mmap
	LazyMode        string    // whether rows of large tensors are read when they are needed: off, auto or on; "" is auto
	MainGPU         int       // index in Devices: what has all of the model in split mode none, and what is not split in mode row
	TensorSplit     []float32 // share of each device; nil: by the memory that is free
	KVOverrides     []MetadataOverride
	VocabOnly       bool // no weights: for tokenising and templates only
	CheckTensors    bool // look for values that are not numbers
	NoRepack        bool // leave weights in the file's layout, which fewer kernels compute with
	NoHost          bool // keep weights of the CPU in its own memory, not in a GPU's host buffers
	LoadMTP         bool // load the layers that predict several tokens
	// Progress is called on the loading goroutine with 0..1; nil is fine.
	Progress func(done float32) `json:"-"`
}

// TensorOverride keeps the tensors whose names a regular expression (ECMAScript) finds in a type
// of buffers, see Device.Buffer.
type TensorOverride struct{ Pattern, Buffer string }

// MetadataOverride has an entry of the file's metadata read as another value. Its type is int,
// float, bool or str.
type MetadataOverride struct{ Key, Type, Value string }

var (
	splitModes = map[string]C.int32_t{"none": 0, "layer": 1, "row": 2, "tensor": 3}
	loadModes  = map[string]C.int32_t{"auto": -1, "none": 0, "mmap": 1, "mlock": 2, "mmap+mlock": 3, "dio": 4}
	lazyModes  = map[string]C.int32_t{"off": 0, "auto": 1, "on": 2}
)

// choose finds a value by its name, without regard to case.
func choose(field, name, otherwise string, among map[string]C.int32_t) (C.int32_t, error) {
	if name == "" {
		name = otherwise
	}
	value, ok := among[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("%w: %s %q; use %s", ErrInvalid, field, name, strings.Join(slices.Sorted(maps.Keys(among)), ", "))
	}
	return value, nil
}

// params is C's view of the options; the pinner keeps in place what it points to until the call
// has returned.
func (o ModelOptions) params(pin *runtime.Pinner) (p C.ps_model_params, err error) {
	for _, f := range []struct {
		field, name, otherwise string
		among                  map[string]C.int32_t
		to                     *C.int32_t
	}{
		{"split mode", o.SplitMode, "layer", splitModes, &p.split_mode},
		{"load mode", o.LoadMode, "mmap", loadModes, &p.load_mode},
		{"lazy mode", o.LazyMode, "auto", lazyModes, &p.lazy_mode},
	} {
		if *f.to, err = choose(f.field, f.name, f.otherwise, f.among); err != nil {
			return p, err
		}
	}
	if o.GPULayers > math.MaxInt32 || o.MainGPU > math.MaxInt32 || o.MainGPU < 0 {
		return p, fmt.Errorf("%w: %d GPU layers, main GPU %d; they must be up to %d, the GPU not negative", ErrInvalid, o.GPULayers, o.MainGPU, math.MaxInt32)
	}
	p.gpu_layers, p.main_gpu = C.int32_t(max(o.GPULayers, -2)), C.int32_t(o.MainGPU)
	p.vocab_only, p.check_tensors, p.no_repack = C._Bool(o.VocabOnly), C._Bool(o.CheckTensors), C._Bool(o.NoRepack)
	p.no_host, p.load_mtp, p.threads = C._Bool(o.NoHost), C._Bool(o.LoadMTP), C.int32_t(PhysicalCores())
	if n := len(o.TensorSplit); n > 0 {
		pin.Pin(&o.TensorSplit[0])
		p.tensor_split, p.n_tensor_split = (*C.float)(unsafe.Pointer(&o.TensorSplit[0])), C.size_t(n)
	}
	s := texts{pin: pin}
	s.devices(o.Devices, &p)
	s.tensorOverrides(o.TensorOverrides, &p)
	if err := s.metadataOverrides(o.KVOverrides, &p); err != nil {
		return p, err
	}
	return p, s.err
}

// texts makes texts into C's, which a zero byte ends.
type texts struct {
	pin *runtime.Pinner
	err error
}

func (t *texts) text(s string) *C.char {
	if strings.ContainsRune(s, 0) {
		t.err = fmt.Errorf("%w: %q has a zero byte in it", ErrInvalid, s)
	}
	b := append([]byte(s), 0)
	t.pin.Pin(&b[0])
	return (*C.char)(unsafe.Pointer(&b[0]))
}

func (t *texts) devices(names []string, p *C.ps_model_params) {
	if len(names) == 0 {
		return
	}
	list := make([]*C.char, len(names))
	for i, name := range names {
		list[i] = t.text(name)
	}
	t.pin.Pin(&list[0])
	p.devices = &list[0]
	if !slices.Equal(names, []string{"none"}) {
		p.n_devices = C.size_t(len(list))
	}
}

func (t *texts) tensorOverrides(overrides []TensorOverride, p *C.ps_model_params) {
	if len(overrides) == 0 {
		return
	}
	list := make([]C.ps_tensor_override, len(overrides))
	for i, o := range overrides {
		list[i].pattern, list[i].buffer = t.text(o.Pattern), t.text(o.Buffer)
	}
	t.pin.Pin(&list[0])
	p.tensor_overrides, p.n_tensor_overrides = &list[0], C.size_t(len(list))
}

func (t *texts) metadataOverrides(overrides []MetadataOverride, p *C.ps_model_params) error {
	if len(overrides) == 0 {
		return nil
	}
	list := make([]C.ps_metadata_override, len(overrides))
	for i, o := range overrides {
		c := &list[i]
		c.key = t.text(o.Key)
		var err error
		switch o.Type {
		case "int":
			c._type = 0
			c.integer, err = parsed[C.int64_t](strconv.ParseInt(o.Value, 10, 64))
		case "float":
			c._type = 1
			c.number, err = parsed[C.double](strconv.ParseFloat(o.Value, 64))
		case "bool":
			c._type = 2
			switch o.Value {
			case "true":
				c.integer = 1
			case "false":
			default:
				err = errors.New("neither true nor false")
			}
		case "str":
			c._type, c.text = 3, t.text(o.Value)
		default:
			err = fmt.Errorf("its type is none of int, float, bool and str")
		}
		if err != nil {
			return fmt.Errorf("%w: the metadata override %s=%s:%s: %w", ErrInvalid, o.Key, o.Type, o.Value, err)
		}
	}
	t.pin.Pin(&list[0])
	p.metadata_overrides, p.n_metadata_overrides = &list[0], C.size_t(len(list))
	return nil
}

func parsed[To, From int64 | float64 | C.int64_t | C.double](v From, err error) (To, error) {
	return To(v), err
}
