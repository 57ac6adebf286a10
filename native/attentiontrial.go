// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// AttentionCase is an attention operation on random numbers, for tests and benchmarks of kernels.
// The numbers depend on the sequence, the position and the head alone, so a row is the same in
// every case that has it.
type AttentionCase struct {
	HeadDimK, HeadDimV, Heads, KVHeads int
	Rows, Cells, Sequences             int // the cells of the sequences alternate; each has as many rows, which are its last
	KType, VType                       Operation
	Window                             int     // cells that a row sees; 0: all up to its own
	MaxBias                            float32 // ALiBi's; 0: none
	SoftCap                            float32 // of scores; 0: none
	Sinks                              bool
	Threads                            int
	Guard                              Guard
	Spoiled                            bool // NaN lies between the rows of numbers, and in cells that no row sees
}

// AttentionTrial is a case that can be computed.
type AttentionTrial struct {
	handle  *C.ps_attention
	results int
}

// NewAttentionTrial fills a case with numbers. The caller closes it.
func NewAttentionTrial(a AttentionCase) (*AttentionTrial, error) {
	of := C.ps_attention_case{
		head_dim_k: C.int32_t(a.HeadDimK), head_dim_v: C.int32_t(a.HeadDimV), heads: C.int32_t(a.Heads), kv_heads: C.int32_t(a.KVHeads),
		rows: C.int32_t(a.Rows), cells: C.int32_t(a.Cells), sequences: C.int32_t(a.Sequences),
		k_type: C.int32_t(a.KType), v_type: C.int32_t(a.VType), window: C.int32_t(a.Window),
		max_bias: C.float(a.MaxBias), soft_cap: C.float(a.SoftCap), threads: C.int32_t(a.Threads),
		guard: C.int32_t(a.Guard),
	}
	if a.Spoiled {
		of.spoiled = 1
	}
	if a.Sinks {
		of.sinks = 1
	}
	t := &AttentionTrial{results: a.Rows * a.Heads * a.HeadDimV}
	var e C.ps_error
	if err := failure(C.ps_attention_new(&of, &t.handle, &e), &e); err != nil {
		return nil, err
	}
	return t, nil
}

// Close frees the case's memory.
func (t *AttentionTrial) Close() { C.ps_attention_free(t.handle) }

// PutQueries replaces the queries, by row, head and number.
func (t *AttentionTrial) PutQueries(numbers []float32) error { return t.put(&numbers[0], nil, nil) }

// PutCells replaces keys and values, by cell, KV head and number.
func (t *AttentionTrial) PutCells(keys, values []float32) error {
	return t.put(nil, &keys[0], &values[0])
}

func (t *AttentionTrial) put(queries, keys, values *float32) error {
	var e C.ps_error
	return failure(C.ps_attention_put(t.handle, (*C.float)(queries), (*C.float)(keys), (*C.float)(values), &e), &e)
}

// Compute is the results by row, head and number of the values, by the kernels in use.
func (t *AttentionTrial) Compute() ([]float32, error) { return t.compute(0) }

// ComputePlainly is the same in plain steps of 64 bits.
func (t *AttentionTrial) ComputePlainly() ([]float32, error) { return t.compute(1) }

func (t *AttentionTrial) compute(plainly int) ([]float32, error) {
	out := make([]float32, t.results)
	var e C.ps_error
	err := failure(C.ps_attention_compute(t.handle, C.int32_t(plainly), (*C.float)(&out[0]), &e), &e)
	return out, err
}
