// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "unsafe"

// llamaLayout is the struct sizes, field offsets and enum values of llama.h that the shim was
// compiled with.
func llamaLayout() map[string]int64 {
	var n C.size_t
	numbers := unsafe.Slice(C.ps_llama_layout(&n), int(n))
	out := make(map[string]int64, len(numbers))
	for _, v := range numbers {
		out[C.GoString(v.name)] = int64(v.value)
	}
	return out
}
