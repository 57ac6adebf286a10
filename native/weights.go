// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// Weights are those of a model's weights that have one type and are computed by the same kernels.
type Weights struct {
	Type    Operation
	Kernels string // of a family, or the device's name
	Bytes   uint64
}

// Weights tells who computes products with the model's weights, most bytes first.
func (m *Model) Weights() ([]Weights, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	var all [64]C.ps_weights
	var n C.size_t
	var e C.ps_error
	if err := failure(C.ps_model_weights(m.c(), &all[0], C.size_t(len(all)), &n, &e), &e); err != nil {
		return nil, err
	}
	out := make([]Weights, min(int(n), len(all)))
	for i := range out {
		w := &all[i]
		out[i] = Weights{Type: Operation(w._type), Bytes: uint64(w.bytes)}
		if w.family == C.PS_KERNELS_DEVICE {
			out[i].Kernels = C.GoString(&w.device[0])
		} else {
			out[i].Kernels = Family(w.family).String()
		}
	}
	return out, nil
}

// AttentionKernels tells which kernels have computed attention on the CPU since UseKernels:
// "penstock", "ggml", "penstock, ggml", or "" where nobody has yet.
func AttentionKernels() string {
	return [...]string{"", "penstock", "ggml", "penstock, ggml"}[C.ps_attention_computed_by()&3]
}
