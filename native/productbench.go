// SPDX-License-Identifier: MIT

package native

// #include "productbench.h"
import "C"

import (
	"time"
	"unsafe"
)

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
