// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "unsafe"

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
