// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// OwnKernels chooses who computes attention and 8-bit products on the CPU, for the whole process: Penstock's kernels (llama.cpp/kernels;
// so it is at the start), which are several times faster for the batches a scheduler makes, or ggml's. Their results differ by
// rounding. Nothing may be computing while it changes.
func OwnKernels(on bool) {
	flag := C.int32_t(0)
	if on {
		flag = 1
	}
	C.ps_own_kernels(flag)
}
