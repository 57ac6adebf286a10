// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// #include "productbench.h"
import "C"

import (
	"time"
	"unsafe"
)

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

// read reads all keys and values, by the case's threads: no kernel takes less time. It returns how
// many bytes they have.
func (t *AttentionTrial) read() (int, error) {
	var bytes C.uint64_t
	var e C.ps_error
	err := failure(C.ps_attention_read(t.handle, &bytes, &e), &e)
	return int(bytes), err //nolint:gosec // they are in memory
}

func (t *AttentionTrial) compute(plainly int) ([]float32, error) {
	out := make([]float32, t.results)
	var e C.ps_error
	err := failure(C.ps_attention_compute(t.handle, C.int32_t(plainly), (*C.float)(&out[0]), &e), &e)
	return out, err
}

// Guard says whether an operation's numbers and results lie beside pages that nothing may touch,
// so that the process crashes where a kernel reads or writes beyond them.
type Guard int

// The guards.
const (
	Unguarded   = Guard(C.PS_GUARD_NONE)
	GuardBehind = Guard(C.PS_GUARD_BEHIND)
	GuardBefore = Guard(C.PS_GUARD_BEFORE)
)

// ProductCase is a product of weights and rows of random numbers, for tests and benchmarks of
// kernels. A row is the same in every case with weights of the same type and shape.
type ProductCase struct {
	Kernel
	Width, Results, Rows int
	Experts, Used        int  // a mixture's, and how many of them compute a row; 0: one matrix
	SharedInput          bool // the experts of a row have the same input
	AsInFile             bool // the weights stay as in the file, though the family would lay them out
	Threads              int
	Guard                Guard
	Spoiled              bool // NaN lies between the rows of inputs, and no expert's number between those of a row
}

// ProductTrial is a case that can be computed.
type ProductTrial struct {
	handle  *C.ps_product
	results int
}

// NewProductTrial fills a case with numbers. The caller closes it.
func NewProductTrial(p ProductCase) (*ProductTrial, error) {
	of := C.ps_product_case{
		family: C.int32_t(p.Family), _type: C.int32_t(p.Operation), width: C.int32_t(p.Width), results: C.int32_t(p.Results),
		rows: C.int32_t(p.Rows), experts: C.int32_t(p.Experts), used: C.int32_t(p.Used), threads: C.int32_t(p.Threads),
		guard: C.int32_t(p.Guard),
	}
	if p.Spoiled {
		of.spoiled = 1
	}
	if p.SharedInput {
		of.shared_input = 1
	}
	if p.AsInFile {
		of.as_in_file = 1
	}
	t := &ProductTrial{results: p.Rows * max(1, p.Used) * p.Results}
	var e C.ps_error
	if err := failure(C.ps_product_new(&of, &t.handle, &e), &e); err != nil {
		return nil, err
	}
	return t, nil
}

// Close frees the case's memory.
func (t *ProductTrial) Close() { C.ps_product_free(t.handle) }

// PutWeights replaces the weights by such as lie in a file, of all experts.
func (t *ProductTrial) PutWeights(bytes []byte) error {
	return t.put(unsafe.Pointer(&bytes[0]), nil, nil)
}

// PutInputs replaces the inputs, by row, expert used (unless these share one) and number.
func (t *ProductTrial) PutInputs(numbers []float32) error {
	return t.put(nil, (*C.float)(&numbers[0]), nil)
}

// PutExperts replaces the experts that compute each row.
func (t *ProductTrial) PutExperts(experts []int32) error {
	return t.put(nil, nil, (*C.int32_t)(&experts[0]))
}

func (t *ProductTrial) put(weights unsafe.Pointer, inputs *C.float, experts *C.int32_t) error {
	var e C.ps_error
	return failure(C.ps_product_put(t.handle, weights, inputs, experts, &e), &e)
}

// Compute is the results by row, expert used and result, by the kernels in use.
func (t *ProductTrial) Compute() ([]float32, error) { return t.compute(0) }

// ComputePlainly is the same in plain steps of 64 bits.
func (t *ProductTrial) ComputePlainly() ([]float32, error) { return t.compute(1) }

func (t *ProductTrial) compute(plainly int) ([]float32, error) {
	out := make([]float32, t.results)
	var e C.ps_error
	err := failure(C.ps_product_compute(t.handle, C.int32_t(plainly), (*C.float)(&out[0]), &e), &e)
	return out, err
}

// copyWeights copies a part of the bytes of weights, in the order of the file, to a case with
// weights of the same type and shape.
func (t *ProductTrial) copyWeights(to *ProductTrial, offset, size int) error {
	var e C.ps_error
	return failure(C.ps_product_copy_weights(t.handle, to.handle, C.size_t(offset), C.size_t(size), &e), &e)
}

// ProductInstructions is what Penstock's products are computed with on this CPU, such as "AVX2";
// "" where there are none.
func ProductInstructions() string { return C.GoString(C.ps_product_instructions()) }

// ProductBench measures products with random weights by one family's kernels. What UseKernels set
// is lost, so it is for a process that does nothing else.
type ProductBench struct{ object }

// NewProductBench makes copies of a matrix of weights, in the layout of the kernel's family.
func NewProductBench(k Kernel, width, results, copies, threads int) (*ProductBench, error) {
	b := new(ProductBench)
	var c *C.ps_product_bench
	var e C.ps_error
	err := failure(C.ps_product_bench_new(C.int32_t(k.Family), C.int32_t(k.Operation), C.int64_t(width), C.int64_t(results), C.int32_t(copies), C.int32_t(threads), &c, &e), &e)
	if err != nil {
		return nil, err
	}
	b.own(unsafe.Pointer(c), nil, func() { C.ps_product_bench_free(c) })
	return b, nil
}

// Run is the time that a product with one of the matrices takes, on average over the first of them.
func (b *ProductBench) Run(rows, copies int) (time.Duration, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	defer b.leave()
	var seconds C.double
	var e C.ps_error
	err := failure(C.ps_product_bench_run((*C.ps_product_bench)(b.h.c), C.int64_t(rows), C.int32_t(copies), &seconds, &e), &e)
	return time.Duration(float64(seconds) * 1e9), err
}

// FaultKind is how InjectFault breaks a kernel.
type FaultKind int

// A kernel that works, one that ends the process, and one whose last number is wrong.
const (
	NoFault FaultKind = iota
	Crash
	WrongResult
)

// InjectedFault is a kernel that is broken on purpose.
type InjectedFault struct {
	Kernel
	Kind FaultKind
}

// InjectFault breaks a kernel of any family but the plain one, or repairs it. It is for tests of
// what finds broken kernels.
func InjectFault(f InjectedFault) {
	C.ps_kernel_inject_fault(C.int32_t(f.Family), C.int32_t(f.Operation), C.int32_t(f.Kind))
}
