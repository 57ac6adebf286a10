// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Adapter is a LoRA adapter, loaded for one model. It is safe for concurrent use.
type Adapter struct{ object }

// ScaledAdapter is an adapter and how strongly it counts: 1 is as it was trained.
type ScaledAdapter struct {
	Adapter *Adapter
	Scale   float32
}

// LoadAdapter loads a LoRA adapter for m, which may be closed before it. llama.cpp aborts the
// process on some damaged files: check an unknown file first, as package host/model does. Passes
// that follow a change of adapters wait until it is loaded.
func LoadAdapter(m *Model, path string) (*Adapter, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("adapter: model %w", err)
	}
	defer m.leave()
	cpath := C.CString(path)
	defer freeString(cpath)
	var e C.ps_error
	var c *C.ps_adapter
	if err := failure(C.ps_adapter_load(m.c(), cpath, &c, &e), &e); err != nil {
		return nil, fmt.Errorf("load adapter %s: %w", path, err)
	}
	a := &Adapter{}
	a.own(unsafe.Pointer(c), m, func() { C.ps_adapter_free(c) })
	return a, nil
}

// SetAdapters sets the adapters of the passes from the next one on, which plans its graphs anew.
// They may be closed meanwhile: the context keeps them until others are set. A closed adapter is
// ErrClosed.
func (c *Context) SetAdapters(adapters []ScaledAdapter) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	kept := &keptAdapters{}
	pointers, scales := make([]*C.ps_adapter, len(adapters)), make([]C.float, len(adapters))
	for i, a := range adapters {
		if err := a.Adapter.enter(); err != nil {
			kept.drop()
			return fmt.Errorf("adapter %w", err)
		}
		a.Adapter.h.keep()
		a.Adapter.leave()
		kept.handles = append(kept.handles, a.Adapter.h)
		pointers[i], scales[i] = (*C.ps_adapter)(a.Adapter.h.c), C.float(a.Scale)
	}
	code := C.ps_context_set_adapters(c.c(), unsafe.SliceData(pointers), unsafe.SliceData(scales), C.size_t(len(adapters)), &c.err)
	if code != C.PS_OK {
		kept.drop()
		return fmt.Errorf("set adapters: %w", failure(code, &c.err))
	}
	kept.handles, c.adapters.handles = c.adapters.handles, kept.handles
	kept.drop()
	return nil
}

// SetControlVector has each layer from first to last add a row of values, as many as
// ModelInfo.Embedding, to what it gives on; the rows begin with layer 1's. Without values there is
// no control vector any more. Passes plan their graphs anew.
func (c *Context) SetControlVector(values []float32, first, last int) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	code := C.ps_context_set_control_vector(c.c(), (*C.float)(unsafe.SliceData(values)), C.size_t(len(values)), C.int32_t(first), C.int32_t(last), &c.err)
	if code != C.PS_OK {
		return fmt.Errorf("set control vector: %w", failure(code, &c.err))
	}
	return nil
}

// keptAdapters are the adapters that a context uses.
type keptAdapters struct{ handles []*handle }

func (k *keptAdapters) drop() {
	for _, h := range k.handles {
		h.drop()
	}
	k.handles = nil
}
