// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/scheduler"
)

// Adapter is a LoRA adapter that is loaded for an engine's model.
type Adapter struct {
	native *native.Adapter
	engine *Engine
	number uint64 // unique in this process, so that cells are never taken for those of another adapter
}

var adapters atomic.Uint64 // loaded so far

// LoadAdapter loads a LoRA adapter from a file that package model has checked. Running passes go
// on meanwhile.
func (e *Engine) LoadAdapter(path string) (*Adapter, error) {
	if e.backend.workers != nil {
		return nil, fmt.Errorf("LoRA adapters: %w", ErrRemote)
	}
	a, err := native.LoadAdapter(e.weights, path)
	if err != nil {
		return nil, err
	}
	adapter := &Adapter{native: a, engine: e, number: adapters.Add(1)}
	if err := e.identity.add(adapter.number, path); err != nil {
		return nil, errors.Join(err, adapter.Close())
	}
	return adapter, nil
}

// Close frees the adapter. A request that still uses it ends with an error.
func (a *Adapter) Close() error {
	a.engine.identity.remove(a.number)
	return a.native.Close()
}

// Scaled is an adapter and how strongly it counts: 1 is as it was trained.
type Scaled struct {
	Adapter *Adapter
	Scale   float32
}

// adapterSet is what passes compute with besides the model. It implements scheduler.Adapters.
type adapterSet struct {
	key string
	set []native.ScaledAdapter
}

// Key implements scheduler.Adapters.
func (a *adapterSet) Key() string { return a.key }

// Adapters are what a request computes with: some adapters, in any order. It is nil if none of
// them counts.
func Adapters(scaled []Scaled) scheduler.Adapters {
	scaled = slices.DeleteFunc(slices.Clone(scaled), func(s Scaled) bool { return s.Scale == 0 })
	if len(scaled) == 0 {
		return nil
	}
	slices.SortFunc(scaled, func(a, b Scaled) int { return cmp.Compare(a.Adapter.number, b.Adapter.number) })
	out := &adapterSet{}
	var key strings.Builder
	for _, s := range scaled {
		fmt.Fprintf(&key, "%d:%x ", s.Adapter.number, s.Scale)
		out.set = append(out.set, native.ScaledAdapter{Adapter: s.Adapter.native, Scale: s.Scale})
	}
	out.key = key.String()
	return out
}

// OfKey finds the adapters of a set by its key, among some. It fails if one of them is not there.
func OfKey(key string, among []*Adapter) (set []Scaled, ok bool) {
	for field := range strings.FieldsSeq(key) {
		number, scale, _ := strings.Cut(field, ":")
		i := slices.IndexFunc(among, func(a *Adapter) bool { return strconv.FormatUint(a.number, 10) == number })
		parsed, err := strconv.ParseFloat(scale, 32)
		if i < 0 || err != nil {
			return nil, false
		}
		set = append(set, Scaled{among[i], float32(parsed)})
	}
	return set, true
}

// useAdapters has the context compute with a batch's adapters, if it does not already.
func (b *backend) useAdapters(a scheduler.Adapters) error {
	if a == nil {
		if b.adapters == "" {
			return nil
		}
		a = &adapterSet{}
	} else if a.Key() == b.adapters {
		return nil
	}
	set, ok := a.(*adapterSet)
	if !ok {
		return fmt.Errorf("adapters of type %T are not this engine's", a)
	}
	if err := b.context.SetAdapters(set.set); err != nil {
		return err
	}
	b.adapters = set.key
	return nil
}

// ControlVector is a file with what is added to the output of layers, and how strongly.
type ControlVector struct {
	Path  string
	Scale float32
}

// ControlVectors are added up and count in all passes. llama.cpp copies all numbers and plans its
// graphs anew for each other scale, so a request cannot choose one.
type ControlVectors struct {
	Vectors     []ControlVector
	First, Last int // layers from 1 on that they change; 0: the first, the last
}

// use has a context compute with the vectors, if there are any.
func (v ControlVectors) use(c *native.Context, info native.ModelInfo) error {
	if len(v.Vectors) == 0 {
		return nil
	}
	last := info.Layers - 1
	if v.First == 0 {
		v.First = 1
	}
	if v.Last == 0 {
		v.Last = last
	}
	if v.First < 1 || v.First > v.Last || v.Last > last {
		return fmt.Errorf("%w: control vectors for the layers %d to %d; the model's are 1 to %d", native.ErrInvalid, v.First, v.Last, last)
	}
	sum := make([]float32, last*info.Embedding)
	for _, vector := range v.Vectors {
		values, err := vector.read(info)
		if err != nil {
			return fmt.Errorf("control vector %s: %w", vector.Path, err)
		}
		for i, x := range values {
			sum[i] += vector.Scale * x
		}
	}
	return c.SetControlVector(sum, v.First, v.Last)
}

func (v ControlVector) read(info native.ModelInfo) (_ []float32, err error) {
	stat, err := os.Stat(v.Path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", native.ErrNotFound)
	}
	file, err := os.Open(v.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return gguf.ReadControlVector(file, stat.Size(), info.Layers, info.Embedding)
}
